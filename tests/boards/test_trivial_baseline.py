"""Trivial and oracle rows are shown beside the methods and never ranked; methods must beat them."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from uqbench.boards import Board, Score
from uqbench.registry import Host
from uqbench.suites import Plan, make_plan, read_suites

MEANS = {"uniform-random": 0.0, "constant-action": 0.3, "dqn": 0.31, "qr-dqn": 0.8, "planner": 1.2}


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Two trivial rows, two methods, and a fifth row that counts as an oracle."""
    host = Host.load()
    suite = read_suites(host, check=()).suite("minatar")
    names = ["uniform-random", "constant-action", "dqn", "qr-dqn", "ua-dqn"]
    tasks = ["asterix", "breakout"]
    made = make_plan(suite, host, "paper", device="cpu", methods=names, tasks=tasks)
    cells = tuple(
        replace(cell, method=cell.method.model_copy(update={"name": "planner"}), role="oracle",
                runs=tuple(replace(run, method="planner") for run in cell.runs))
        if cell.method.name == "ua-dqn" else cell
        for cell in made.cells
    )  # fmt: skip
    return replace(made, cells=cells, claims=())


def simulated(plan: Plan, means=MEANS) -> list[Score]:
    generator = np.random.default_rng(0)
    return [
        Score(run.task, run.method, run.seed, "finished", "cpu",
              means[run.method] + 0.05 * float(generator.standard_normal()),
              {}, str(run.folder), run.digest, "uqbench:aaaa")
        for run in sorted(plan.runs, key=lambda run: (run.task, run.method, run.seed))
    ]  # fmt: skip


def rows(board: Board, name: str = "leaderboard.csv") -> dict[str, dict[str, str]]:
    return {row["method"]: row for row in csv.DictReader(io.StringIO(board.files()[name]))}


@pytest.mark.parametrize("best", ["qr-dqn", "constant-action"])
def test_one_local_run_leaves_all_rows_and_the_headline_as_they_were(plan, best):
    """Where a method is best, and where none beats the trivial row."""
    scores = simulated(plan, MEANS | {best: 2.0})
    mine = [
        replace(cell, method=cell.method.model_copy(update={"name": "mine"}),
                runs=tuple(replace(run, method="mine") for run in cell.runs[:1]))
        for cell in plan.cells if cell.method.name == "qr-dqn"
    ]  # fmt: skip
    own = [replace(s, method="mine") for s in scores if (s.method, s.seed) == ("qr-dqn", 0)]
    alone = Board.of(plan, scores)
    beside = Board.of(replace(plan, cells=(*plan.cells, *mine)), [*scores, *own])
    assert len(mine) == len(own) == 2
    theirs, row = rows(beside), rows(beside).pop("mine")
    assert {name: of for name, of in theirs.items() if name != "mine"} == rows(alone)
    assert (row["rank"], row["mean_low"], row["beats_trivial"]) == ("", "", "")
    said = "Too few runs for a rank, fewer than 3 a task: mine."
    assert beside.finding == f"{alone.finding} {said}"
    assert beside.together == alone.together


def test_without_intervals_or_trivial_runs_nothing_is_marked(plan):
    scores = simulated(plan)
    two = Board.of(plan, [s for s in scores if s.seed < 2])
    assert two.trivial.beaten == {"dqn": None, "qr-dqn": None}
    gone = {"status": "failed", "score": None}
    lacking = [replace(s, **gone) if s.method == "uniform-random" else s for s in scores]
    assert Board.of(plan, lacking).trivial.best == "constant-action"  # of those with a value
    neither = [replace(s, **gone) if s.method == "constant-action" else s for s in lacking]
    board = Board.of(plan, neither)
    assert board.trivial is None
    assert {row["beats_trivial"] for row in rows(board).values()} == {""}
