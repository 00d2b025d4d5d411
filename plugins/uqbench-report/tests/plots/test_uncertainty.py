"""Curves of uncertainty are those that a board keeps, or of runs as they are loaded."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from uqbench_report.plots import uncertainty

from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError
from uqbench.figure import NotDrawableError

BOARDS = Path(__file__).parents[4] / "leaderboards"
FOLDER = BOARDS / "uncertainty-toy" / "paper"


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
    figure = uncertainty.figure(StoredBoard.read(BOARDS / "priormdp-sbc" / "paper"), "reliability")
    gaps = (figure.data["y"] - figure.data["x"]).groupby(figure.data["method"]).mean()
    assert gaps["bql"] < -0.1 < gaps["psrl"]
    assert f"bql {gaps['bql']:+.3f}; " in figure.numbers
