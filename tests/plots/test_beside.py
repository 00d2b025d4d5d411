"""Curves of uncertainty are read from the runs that are beside a results folder's board."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.plots import uncertainty
from uqbench.plots.figure import NotDrawableError
from uqbench.plots.tables import BoardTables

FOLDER = Path(__file__).parents[2] / "leaderboards" / "uncertainty-toy" / "paper"


def test_a_board_without_its_runs_says_where_they_were_expected():
    with pytest.raises(NotDrawableError, match=r"are not beside it: expected .*uncertainty-toy"):
        uncertainty.figure(BoardTables.read(FOLDER), "reliability")


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
