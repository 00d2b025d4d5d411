"""Somebody's predictions of a task's test set, beside the stored rows of that data set."""

import sys
from pathlib import Path

import numpy as np
import pytest
from uqbench_compare.predictions import beside
from uqbench_compare.predictions.beside import _test_targets

import uqbench
from uqbench.boards import StoredBoard, from_csv
from uqbench.errors import UqbenchError
from uqbench.registry.load_host import load_host
from uqbench.results import Folder
from uqbench.suites import Selection

PLUGINS = Path(__file__).parents[3]
BOARD = PLUGINS.parent / "leaderboards" / "regression" / "paper"
sys.path.insert(0, str(PLUGINS / "uqbench-boards" / "src"))  # as if that package were installed


@pytest.fixture(scope="module")
def known() -> np.ndarray:
    """The test targets of diabetes, data set 3."""
    host = load_host()
    plan = Selection("regression", "paper").plan(host, "cpu", print)
    cell = next(cell for cell in plan.cells if cell.task.name == "diabetes")
    [(_, targets)] = _test_targets(cell, [run for run in cell.runs if run.seed == 3], host)
    return targets


def stored(method: str) -> dict[str, float]:
    cells = from_csv(StoredBoard.read(Folder(BOARD)).checked("scores.csv").decode(), "here").cells
    [one] = [
        one for cell in cells for one in cell
        if (one.task, one.method, one.seed) == ("diabetes", method, 3)
    ]  # fmt: skip
    return one.values


def test_the_rows_of_the_same_data_set_stand_beside_the_best_first(known):
    given = {"mean": np.full(len(known), known.mean()), "std": np.full(len(known), known.std())}
    rows = uqbench.score(**given, targets=known, beside="regression")
    nll = rows.loc["nll", "value"]
    assert list(nll) == sorted(nll)
    assert {"yours", "climatology", "deep-ensemble"} <= {*nll.index}
    assert nll["deep-ensemble"] == stored("deep-ensemble")["nll"]
    assert nll["yours"] == pytest.approx(nll["climatology"], rel=1e-9)
    assert nll["climatology"] == pytest.approx(stored("deep-ensemble")["nll_shares"], rel=1e-6)
    assert "regression · paper: task diabetes, data set 3" in rows.attrs["notes"][-1]
    alone = uqbench.score(**given, targets=known)
    assert rows.loc[("rmse", "yours"), "low"] == alone.loc["rmse", "low"]
    assert rows.attrs["absent"] == alone.attrs["absent"]
    assert uqbench.score(**given, targets=known, beside=BOARD).equals(rows)


def test_other_targets_or_another_order_have_no_rows(known):
    given = {"mean": known, "std": np.ones(len(known))}
    with pytest.raises(UqbenchError, match=r"no task of regression .* diabetes \d+"):
        uqbench.score(**given, targets=known[::-1], beside="regression")
    with pytest.raises(UqbenchError, match=r"no stored board of 'regresion'.*regression"):
        uqbench.score(**given, targets=known, beside="regresion")
    with pytest.raises(UqbenchError, match="expected targets, to find the task"):
        uqbench.score(score=known, outside_score=known, beside="regression")


def test_where_no_data_can_be_read_the_error_says_why(known, monkeypatch):
    def offline(cell, runs, host):
        raise OSError(f"no network for {cell.task.name}")

    monkeypatch.setattr(beside, "_test_targets", offline)
    with pytest.raises(UqbenchError, match=r"diabetes cannot be read: OSError: no network for dia"):
        uqbench.score(mean=known, std=np.ones(len(known)), targets=known, beside="regression")
