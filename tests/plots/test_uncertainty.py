"""Curves of uncertainty are those that a board keeps, or of runs as they are loaded."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards.stored import StoredBoard
from uqbench.errors import UqbenchError
from uqbench.figure import NotDrawableError
from uqbench.plots import uncertainty

FOLDER = Path(__file__).parents[2] / "leaderboards" / "uncertainty-toy" / "paper"


def test_a_board_without_curves_of_uncertainty_says_why_that_may_be(tmp_path):
    folder = tmp_path / "uncertainty-toy" / "paper"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("uncertainty.parquet"))
    with pytest.raises(NotDrawableError, match="has no curves of uncertainty: the budget"):
        uncertainty.figure(StoredBoard.read(folder), "reliability")


@pytest.mark.parametrize("kept", [pd.DataFrame({"x": [1]}), pd.DataFrame({"task": [[1]]})])
def test_a_damaged_file_of_them_is_named(kept, tmp_path):
    folder = tmp_path / "uncertainty-toy" / "paper"
    shutil.copytree(FOLDER, folder)
    kept.to_parquet(folder / "uncertainty.parquet")
    with pytest.raises(UqbenchError, match=r"uncertainty\.parquet is damaged"):
        uncertainty.figure(StoredBoard.read(folder), "reliability")


def test_a_figure_of_curves_says_how_far_from_perfect_each_method_is():
    levels = np.arange(1, 10) / 10
    rows = [
        {
            "task": "t",
            "method": method,
            "seed": 0,
            "step": 1,
            "curve": "reliability",
            "x": x,
            "y": y,
        }
        for method, shift in (("right", 0.0), ("sure", -0.05))
        for x, y in zip(levels, levels + shift, strict=True)
    ]
    found = uncertainty.of_curves("toy", pd.DataFrame(rows), "reliability", ["sure", "right"])
    assert "right 0.000; sure 0.050" in found.text
    assert len(found.data) == 18
