"""A board keeps the mean of its runs' curves, of returns and of uncertainty."""

import io
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_runs import EPISODES, METRICS, make_record, make_run

from uqbench.boards.curves import PARTS, _points, curve_files, learning_curves
from uqbench.errors import UqbenchError
from uqbench.results import CURVES, Making, RunColumns, Score, Scores, Store

NAME = "uncertainty.parquet"


def curves(shift: float) -> dict[str, Any]:
    return {
        "step": np.array([1, 1, 2, 2, 2]),
        "curve": np.array([*["reliability"] * 4, "error_against_std"]),
        "x": np.array([0.5, 0.9, 0.5, 0.9, 3.0]),
        "y": np.array([0.0, 0.2, 0.4 + shift, 0.8 + shift, 7.0]),
    }


def predictions(shift: float) -> dict[str, Any]:
    """Twenty pairs whose errors are twice what is stated, as far as the truth is known."""
    std = np.repeat(np.arange(1.0, 11.0), 2)
    error = np.sqrt((2 * std + shift) ** 2 + 0.25)
    return {
        "step": np.repeat([1, 2], 20), "mean": np.concatenate([np.zeros(20), error]),
        "std": np.tile(std, 2), "truth": np.zeros(40), "truth_se": np.full(40, 0.5)}  # fmt: skip


@pytest.fixture
def board(tmp_path: Path) -> tuple[Any, list[Any], Store]:
    """A plan of four finished runs, of which the last was not asked, and a planned one."""
    store, scores = Store(tmp_path), []
    runs = [make_run(seed).on_device("cpu") for seed in range(5)]
    for run in runs:
        score = Score(run.task, run.method, run.seed, "missing", "", None, {}, run.place)
        if run.seed < 4:
            asked = curves(0.1 * run.seed) if run.seed < 3 else None
            predicted = predictions(0.1 * run.seed) if run.seed < 3 else None
            record = make_record(run, status="finished", step=2)
            store.finish(run, record, RunColumns(METRICS, EPISODES, asked, predictions=predicted))
            made = Making(run, None, "", "", record.provenance, record.metrics, {})
            score = replace(score, made=made, device="cpu")
        scores.append(score)
    suite = SimpleNamespace(task=lambda _: SimpleNamespace(environment=None))
    plan = SimpleNamespace(runs=runs, cells=[SimpleNamespace(runs=runs)], suite=suite)
    return plan, Scores.of(scores), store


def test_they_are_those_of_the_last_occasion_of_the_runs_that_were_asked(board):
    [data] = curve_files(*board).values()
    found = pd.read_parquet(io.BytesIO(data))
    assert "error_against_std" not in set(found["curve"])  # every single pair is not kept
    found = found[found["curve"] == "reliability"]
    assert (found["x"].tolist(), found["y"].tolist()) == ([0.5, 0.9], pytest.approx([0.5, 0.9]))
    reach = 4.302653 * 0.1 / math.sqrt(3)  # Student's, of two degrees of freedom
    assert found["low"].tolist() == pytest.approx([0.5 - reach, 0.9 - reach])
    assert found["high"].tolist() == pytest.approx([0.5 + reach, 0.9 + reach])
    assert (found["runs"].tolist(), curve_files(*board)) == ([3, 3], {NAME: data})


def test_coverage_over_training_is_that_of_90_percent_intervals_on_each_occasion(board):
    found = pd.read_parquet(io.BytesIO(curve_files(*board)[NAME]))
    found = found[found["curve"] == "training"]
    assert (found["x"].tolist(), found["y"].tolist()) == ([1.0, 2.0], pytest.approx([0.2, 0.9]))


def test_errors_by_stated_standard_deviation_leave_out_the_truths_own(board):
    found = pd.read_parquet(io.BytesIO(curve_files(*board)[NAME]))
    stated, error = (found[found["curve"] == name] for name in ("stated", "error"))
    assert stated["x"].tolist() == pytest.approx([0.1 * k for k in range(1, 11)])
    assert stated["y"].tolist() == pytest.approx(list(range(1, 11)))
    assert error["y"].tolist() == pytest.approx([2 * k + 0.1 for k in range(1, 11)])


def test_without_any_there_is_no_file(board):
    plan, scores, store = board
    assert curve_files(plan, Scores.of([*scores][3:]), store) == {}


def test_a_run_whose_file_was_altered_is_named(board):
    plan, scores, store = board
    path = store.folder(plan.runs[1]) / CURVES
    pd.read_parquet(path).assign(y=0.0).to_parquet(path)
    with pytest.raises(UqbenchError, match="does not match its digest"):
        curve_files(plan, scores, store)


def test_a_run_of_fewer_steps_than_points_has_empty_parts():
    at = np.arange(1, 31)
    records = {"step": at, "metric": np.full(30, "reward", object), "value": at.astype(float)}
    two = {"phase": np.full(2, "training", object), "end": np.full(2, "terminated", object)}
    episodes = {"step": np.array([15, 30]), **two, "return": np.array([3.0, 5.0])}
    points = _points(records, episodes, 30)
    assert (len(points), points["step"].iloc[-1]) == (PARTS, 30)
    assert points["return"].sum() == 8.0
    assert points["reward_per_step"].sum() == 30  # one a step


def runs(returns: list[list[float]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"task": "t", "method": "m", "step": 10 * (k + 1), "return": r, "reward_per_step": 0.5}
            for row in returns
            for k, r in enumerate(row)
        ]
    )


def test_a_learning_curve_is_the_mean_of_the_runs_that_have_an_episode():
    nan = math.nan
    found = learning_curves(runs([[1, 4], [2, nan], [3, nan]]))
    assert (found["value"].tolist(), found["runs"].tolist()) == ([2.0, 4.0], [3, 1])
    reach = 4.302652729911275 / math.sqrt(3)  # Student's quantile, two degrees; deviation 1
    assert found["high"].iloc[0] == pytest.approx(2 + reach)
    assert math.isnan(found["low"].iloc[1])
    assert set(found["metric"]) == {"return"}


def test_where_no_episode_ends_the_curve_is_of_the_reward():
    found = learning_curves(runs([[math.nan] * 2] * 3))
    assert (set(found["metric"]), found["value"].tolist()) == ({"reward_per_step"}, [0.5, 0.5])
