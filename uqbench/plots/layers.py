"""What figures share: estimates of a leaderboard, and the layers that show their intervals."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from uqbench.figure import NotDrawableError

ENDS = ("", "_low", "_high")


def estimates(leaderboard: pd.DataFrame, *names: str) -> pd.DataFrame:
    """``method``, ``role``, then of each name ``x``, ``x_low``, ``x_high``, ``y``, ….

    Args:
        leaderboard: ``leaderboard.csv``.
        names: of columns of it that have an interval, such as ``"iqm"``; at most two.

    Raises:
        NotDrawableError: there is no such column.
    """
    for name in names:
        if not {f"{name}{end}" for end in ENDS} <= {*leaderboard}:
            known = [c.removesuffix("_low") for c in leaderboard if c.endswith("_low")]
            raise NotDrawableError(
                f"the leaderboard has no {name} with an interval; it has {', '.join(known)}."
            )
    found = leaderboard[["method", "role", *(f"{name}{end}" for name in names for end in ENDS)]]
    axes = [f"{axis}{end}" for axis in "xy"[: len(names)] for end in ENDS]
    return found.set_axis(["method", "role", *axes], axis="columns")


def reach(data: pd.DataFrame, axis: str, slack: float) -> list[float]:
    """The ends of an axis that has room for all intervals, and some more."""
    values = data[[f"{axis}{end}" for end in ENDS]]
    low, high = float(values.min().min()), float(values.max().max())
    more = slack * (high - low) or 1.0
    return [low - more, high + more]


def crosses(rules: alt.Chart, x: alt.X, y: alt.Y, **color: Any) -> list[alt.Chart]:
    """Layers of the intervals of both axes, made of a chart with the mark of a rule."""
    return [
        rules.encode(alt.X("x_low:Q"), y, x2="x_high:Q", **color),
        rules.encode(x, alt.Y("y_low:Q"), y2="y_high:Q", **color),
    ]
