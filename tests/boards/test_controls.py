"""What a board says of controls, and of settings that its order goes with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from packed import read_scores
from uqbench_leaderboard.check import rewrite

import uqbench
from uqbench.api.session import Session
from uqbench.boards import Board, Score, Told, from_csv, to_csv
from uqbench.boards.controls import above_controls
from uqbench.registry import Host
from uqbench.results import Scores
from uqbench.suites import make_plan, read_suites
from uqbench.suites.controls import BESIDE, CONTROLS, control_of, follows, with_controls

METHODS = ("bootstrapped-dqn-masks", "ua-dqn", "dqn")
SEEDS = range(4)


@pytest.fixture(scope="module")
def plan():
    host = Host.load()
    suite = read_suites(host, check=()).suite("minatar")
    plan = make_plan(suite, host, "night-heads", device="cpu", methods=METHODS, seeds=SEEDS)
    return replace(plan, claims=())


def board_of(plan, value):
    """A board whose runs have ``value(method, metric, seed)``, None where not measured."""
    constants = plan.suite.normalization_constants(plan.suite.primary_metric(plan.budget))
    rows = []
    for run in plan.runs:
        own = {m.name: value(run.method, m, run.seed) for m in plan.suite.metrics}
        own = {name: one for name, one in own.items() if one is not None}
        score = constants[run.task].normalize(own["learning_speed"])
        rows.append(Score(run.task, run.method, run.seed, "finished", "cpu", score, own, run.place))
    return Board.of(plan, rows)


def planted(method, metric, seed):
    """Bootstrapped heads' widths are worth .1 more than any control's, UA-DQN's .1 less."""
    drawn = 0.01 * np.random.default_rng([seed, len(metric.name)]).standard_normal()
    if not metric.statistic.endswith("/information"):
        return 0.5 + drawn
    if control_of(metric) is not None:
        return (0.3 if control_of(metric) == "constant" else 0.2) + drawn
    return {"bootstrapped-dqn-masks": 0.4, "ua-dqn": 0.2}.get(method, 0.1) + drawn


def test_a_skill_is_worth_what_it_is_beyond_its_best_control(plan):
    rows = {row["method"]: row for row in board_of(plan, planted).rows()}
    for method, expected in zip(METHODS, (0.1, -0.1, -0.2), strict=True):
        row = rows[method]
        assert float(row["information_beyond"]) == pytest.approx(expected, abs=0.02)
        assert float(row["information_beyond_low"]) < float(row["information_beyond"])
        assert float(row["information_beyond_high"]) < expected + 0.05
    assert above_controls(pd.DataFrame(rows.values()))["information"] == ["bootstrapped-dqn-masks"]
    said = board_of(plan, planted).told.note
    assert "beat their controls in information (bootstrapped-dqn-masks)." in said

    def less(method, metric, seed):  # half of it
        own = metric.statistic == "queries/information"
        return planted(method, metric, seed) * (0.5 if own else 1)

    assert "Controls score as well on proper" in (board_of(plan, less).told.note)


def test_a_selection_without_methods_has_a_board(plan):
    cells = [replace(cell, role="oracle") for cell in plan.cells]
    rows = board_of(replace(plan, cells=cells), planted).rows()
    assert [row["role"] for row in rows] == ["oracle"] * len(METHODS)


def test_a_coverage_stands_beside_those_of_width_zero_and_of_the_best_constant_width(plan):
    def value(method, metric, seed):
        if metric.name == "q_coverage_90" and method == "dqn":
            return None
        return {None: 0.5, "zero": 0.4, "constant": 0.9}.get(control_of(metric), 0.1)

    said = board_of(plan, value).told
    assert "90 % intervals cover 50 %" in said.headline
    assert "Intervals of width zero would cover 40 %, those of the best constant" in said.note
    assert "width would cover 90 % of true values." in said.note


def test_boards_of_runs_from_before_controls_are_as_they_were(plan):
    board = board_of(plan, lambda _, metric, seed: None if follows(metric) else 0.5)
    names = {metric.name for metric in plan.suite.metrics if follows(metric)}
    assert len(names) == 3 * len(CONTROLS) + 1 + len(BESIDE) + 3
    assert not names & {*board.tables["scores.csv"].decode().splitlines()[0].split(",")}
    columns = [*board.rows()[0]]
    assert not [name for name in columns if "beyond" in name or name.removesuffix("_mean") in names]


def test_controls_are_stored_with_the_scores(plan):
    board = board_of(plan, planted)
    again = from_csv(board.tables["scores.csv"].decode(), "scores.csv")
    assert to_csv(again, board.metrics) == board.tables["scores.csv"]
    assert Board.of(plan, again).tables["leaderboard.csv"] == board.tables["leaderboard.csv"]


def test_a_suite_without_queries_has_no_controls():
    suite = read_suites(Host.load(), check=()).suite("five-state")
    assert with_controls(suite.metrics, {"nll": "prediction"}) == suite.metrics


def said(lows):
    """The note on methods a and b, by their skills' lower ends beyond the best control."""
    own = {"role": "method", "beats_trivial": "yes", "iqm": 1.0, "rank": 1, "rank_low": 1,
           "rank_high": 2}  # fmt: skip
    rows = [
        {"method": name, **own}
        | {f"s{i}_beyond{end}": low[k] for i, low in enumerate(lows) for end in ("", "_low")}
        for k, name in enumerate("ab")
    ]
    return Told(pd.DataFrame(rows), "iqm", True, pd.DataFrame(), ("r", "max")).note


def test_of_many_skills_those_are_named_in_which_no_method_is_above_its_controls():
    told = "Controls score as well on s6, s7."
    assert told in said([[0.1, -0.1]] * 6 + [[-0.1] * 2] * 2)
    assert "ontrols" not in said([[0.1, -0.1]] * 8)


def test_a_skill_in_which_every_method_is_above_its_controls_tells_none_from_another():
    assert "controls" not in said([[0.1, 0.1]])
    assert "in s0 (a)." in said([[0.1, -0.1], [0.1, 0.1]])


def test_a_board_from_before_controls_gets_those_of_its_runs_and_keeps_them(tmp_path, monkeypatch):
    """What is added is what a board of the same runs has; without the runs nothing is lost."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "tabular,builtin")
    out, boards = tmp_path / "results", tmp_path / "boards"

    def options(of):
        return uqbench.Options("priormdp-sbc", "smoke", ("psrl",), out=of)

    own = {"budget": "smoke", "methods": ["psrl"]}
    uqbench.run("priormdp-sbc", **own, workers=1, out=out, progress=False)
    folder = uqbench.leaderboard(options(out), boards).folder
    names = ("scores.csv.gz", "leaderboard.csv", "README.md")
    whole = {name: (folder / name).read_bytes() for name in names}
    assert "proper_constant" in read_scores(folder)
    session = Session(options(out))
    stored, board = session.stored(session.plan(), boards)
    later = [metric.name for metric in board.metrics if follows(metric)]
    rows = [
        replace(row, values={n: v for n, v in row.values.items() if n not in later})
        for row in board.scores
    ]
    assert rewrite(stored, replace(board, gathered=Scores.of(rows)), session.host)
    assert "_constant" not in read_scores(folder)
    assert uqbench.check_leaderboard(options(out), boards).good
    uqbench.rewrite_leaderboard(options(tmp_path / "none"), boards)
    assert "_constant" not in read_scores(folder)
    for of in (out, tmp_path / "none"):
        uqbench.rewrite_leaderboard(options(of), boards)
        assert {name: (folder / name).read_bytes() for name in names} == whole
