"""Trivial and oracle rows are shown beside the methods and never ranked; methods must beat them."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from uqbench import AgentSpec
from uqbench.boards import Board, Score
from uqbench.pages.board_view import BoardView, board_notes
from uqbench.pages.markdown import page
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
        for cell in made.cells)  # fmt: skip
    return replace(made, cells=cells, claims=())


def simulated(plan: Plan, means=MEANS, noise: float = 0.05) -> list[Score]:
    generator = np.random.default_rng(0)
    return [
        Score(run.task, run.method, run.seed, "finished", "cpu",
              means[run.method] + noise * float(generator.standard_normal()),
              {}, str(run.folder), run.digest, "uqbench:aaaa")
        for run in sorted(plan.runs, key=lambda run: (run.task, run.method, run.seed))]  # fmt: skip


def rows(board: Board, name: str = "leaderboard.csv") -> dict[str, dict[str, str]]:
    return {row["method"]: row for row in csv.DictReader(io.StringIO(board.files()[name]))}


def test_the_agent_says_what_learns_nothing(plan):
    assert plan.roles == {
        "uniform-random": "trivial", "constant-action": "trivial", "dqn": "method",
        "qr-dqn": "method", "planner": "oracle"}  # fmt: skip
    with pytest.raises(ValueError, match=r"no role 'trivail'\. Did you mean 'trivial'"):
        AgentSpec(name="mine", version="1", factory="a:B", role="trivail")


def test_who_is_below_the_best_trivial_row_without_an_interval_is_no_exception(plan):
    """Rows whose runs do not vary have none, as those that state no widths."""
    scores = simulated(plan, {**MEANS, "dqn": 0.1})
    level = [replace(s, score=0.2) if s.method == "qr-dqn" else s for s in scores]
    level = [replace(s, score=0.3) if s.method == "constant-action" else s for s in level]
    for value, said in ((0.2, "No method beats the trivial constant-action (0.30)"), (0.5, "")):
        moved = [replace(s, score=value) if s.method == "qr-dqn" else s for s in level]
        board = Board.of(plan, moved)
        beaten = {name: row["beats_trivial"] for name, row in rows(board).items()}
        assert (beaten["dqn"], beaten["qr-dqn"]) == ("no", "")
        assert board.finding.startswith(said or "qr-dqn")


def test_only_methods_have_ranks_and_baselines_count_among_the_pairs(plan):
    board = Board.of(plan, simulated(plan))
    found = rows(board)
    assert {name: row["rank"] for name, row in found.items()} == {
        "uniform-random": "", "constant-action": "", "dqn": "2", "qr-dqn": "1", "planner": "",
    }  # fmt: skip
    assert {row["role"] for row in found.values()} == {"trivial", "method", "oracle"}
    cells = tuple(cell for cell in plan.cells if cell.role == "method")
    alone = Board.of(
        replace(plan, cells=cells), [s for s in board.scores if s.method in ("dqn", "qr-dqn")]
    )
    assert alone.places == board.places
    (pair,) = alone.pairs
    (same,) = [p for p in board.pairs if (p.first, p.second) == (pair.first, pair.second)]
    assert (same.p, same.adjusted) == (pair.p, 5 * pair.adjusted)
    family = {(p.first, p.second) for p in board.pairs if p.adjusted is not None}
    assert len(family) == 1 + 2 * 2
    assert not any("planner" in names for names in family)
    assert ("constant-action", "uniform-random") not in family


def test_what_does_not_beat_the_best_trivial_row_is_marked(plan):
    board = Board.of(plan, simulated(plan))
    assert board.trivial.best == "constant-action"
    assert {name: row["beats_trivial"] for name, row in rows(board).items()} == {
        "uniform-random": "", "constant-action": "", "dqn": "no", "qr-dqn": "yes", "planner": "",
    }  # fmt: skip
    shown = page(board, [], "")
    order = ["`planner` (oracle)", "`qr-dqn` |", "`dqn` † |", "`constant-action` (trivial)",
             "`uniform-random` (trivial)"]  # fmt: skip
    places = [shown.index(name) for name in order]
    assert places == sorted(places)
    note = board_notes(board, BoardView.of(board))
    assert note in shown
    assert note.startswith("† does not significantly beat constant-action")


def test_worse_than_the_trivial_baseline_is_no_beating_of_it(plan):
    """Whichever name comes first in the pair: dqn after constant-action, and before uniform."""
    for means, best in ((MEANS | {"dqn": -1.0}, "constant-action"),
                        (MEANS | {"uniform-random": 0.5}, "uniform-random")):  # fmt: skip
        board = Board.of(plan, simulated(plan, means))
        assert board.trivial.best == best
        assert board.trivial.beaten == {"dqn": False, "qr-dqn": True}


@pytest.mark.parametrize("best", ["qr-dqn", "constant-action"])
def test_one_local_run_leaves_all_rows_and_the_headline_as_they_were(plan, best):
    """Where a method is best, and where none beats the trivial row."""
    scores = simulated(plan, MEANS | {best: 2.0})
    mine = [
        replace(cell, method=cell.method.model_copy(update={"name": "mine"}),
                runs=tuple(replace(run, method="mine") for run in cell.runs[:1]))
        for cell in plan.cells if cell.method.name == "qr-dqn"]  # fmt: skip
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


def failed(score):
    return replace(score, status="failed", score=None)


def test_without_intervals_or_trivial_runs_nothing_is_marked(plan):
    scores = simulated(plan)
    two = Board.of(plan, [s for s in scores if s.seed < 2])
    assert two.trivial.beaten == {"dqn": None, "qr-dqn": None}
    lacking = [failed(s) if s.method == "uniform-random" else s for s in scores]
    board = Board.of(plan, lacking)
    assert board.trivial.best == "constant-action"  # of those that have a value
    board = Board.of(plan, [failed(s) if s.method == "constant-action" else s for s in lacking])
    assert board.trivial is None
    assert {row["beats_trivial"] for row in rows(board).values()} == {""}
