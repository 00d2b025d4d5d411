"""A board keeps the mean of its runs' curves of uncertainty."""

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

from uqbench.boards.curves import curve_files
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
        "step": np.repeat([1, 2], 20),
        "mean": np.concatenate([np.zeros(20), error]),
        "std": np.tile(std, 2),
        "truth": np.zeros(40),
        "truth_se": np.full(40, 0.5),
    }


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
    assert found["x"].tolist() == [0.5, 0.9]
    assert found["y"].tolist() == pytest.approx([0.5, 0.9])
    reach = 4.302653 * 0.1 / math.sqrt(3)  # Student's, of two degrees of freedom
    assert found["low"].tolist() == pytest.approx([0.5 - reach, 0.9 - reach])
    assert found["high"].tolist() == pytest.approx([0.5 + reach, 0.9 + reach])
    assert found["runs"].tolist() == [3, 3]
    assert curve_files(*board) == {NAME: data}


def test_coverage_over_training_is_that_of_90_percent_intervals_on_each_occasion(board):
    found = pd.read_parquet(io.BytesIO(curve_files(*board)[NAME]))
    found = found[found["curve"] == "training"]
    assert found["x"].tolist() == [1.0, 2.0]
    assert found["y"].tolist() == pytest.approx([0.2, 0.9])


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
