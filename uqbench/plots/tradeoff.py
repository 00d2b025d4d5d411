"""Risk against return: two metrics of each method with both intervals; up and right is better."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import altair as alt
import numpy as np
import pandas as pd

from uqbench.figure import BoardTables, Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.plots.words import spelled, statistic_label

SIZE = 260


def frame(leaderboard: pd.DataFrame, across: str, up: str) -> pd.DataFrame:
    """``method``, ``x``, ``x_low``, ``x_high``, ``y``, ``y_low``, ``y_high``.

    Args:
        leaderboard: ``leaderboard.csv``.
        across: a column of it that has an interval; more is better.
        up: another.
    """
    columns = [f"{name}{end}" for name in (across, up) for end in ("", "_low", "_high")]
    missing = [name for name in columns if name not in leaderboard]
    if missing:
        raise NotDrawableError(f"the leaderboard has no column {', '.join(missing)}.")
    found = leaderboard[["method", *columns]].copy()
    found.columns = pd.Index(["method", "x", "x_low", "x_high", "y", "y_low", "y_high"])
    return found[found["x"].notna() & found["y"].notna()].reset_index(drop=True)


def chart(data: pd.DataFrame, across: str, up: str) -> alt.LayerChart | alt.FacetChart:
    """A cross a method, with its name."""
    ends = data[["y", "y_low", "y_high"]].to_numpy()
    step = 0.06 * float(np.nanmax(ends) - np.nanmin(ends))
    side = labels(list(data["x"]), list(data["y"]), step)
    data = data.assign(label_y=side, right=data["x"] <= (data["x"].min() + data["x"].max()) / 2)
    base = alt.Chart(width=SIZE + 60, height=SIZE)
    quiet = alt.Scale(zero=False, padding=24)
    x = alt.X("x:Q", title=f"{across} →", scale=quiet, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=f"{up} →", scale=quiet, axis=theme.up(5))
    wide = base.mark_rule(color=theme.FAINT, strokeWidth=1.2).encode(
        alt.X("x_low:Q"), y, x2="x_high:Q"
    )
    tall = base.mark_rule(color=theme.FAINT, strokeWidth=1.2).encode(
        x, alt.Y("y_low:Q"), y2="y_high:Q"
    )
    points = base.mark_point(filled=True, size=50, opacity=1, color=theme.BLUE).encode(x, y)
    leaders = base.mark_rule(color=theme.FAINT, strokeWidth=0.6).encode(
        alt.X("x:Q"), alt.Y("y:Q"), y2="label_y:Q"
    )
    words = [
        base.transform_filter(f"{'' if right else '!'}datum.right")
        .mark_text(align="left" if right else "right", dx=8 if right else -8, fontSize=11)
        .encode(alt.X("x:Q"), alt.Y("label_y:Q"), text="method:N")
        for right in (True, False)
    ]
    return alt.layer(wide, tall, leaders, points, *words, data=data)


def figure(board: BoardTables, up: str | None = None) -> Figure:
    """The board's ranking statistic, and its worst quarter of seeds or a risk of its suite."""
    across = board.ranking
    name = up or risk_column(board.leaderboard, board.ranking)
    said = _said(name, across)
    data = frame(board.leaderboard, across, name)
    if len(data) < 2:
        raise NotDrawableError(f"{board.folder}: fewer than two methods have all of their runs.")
    return Figure(
        "risk",
        f"{board.title}: risk against return",
        f"{statistic_label(across)} of the score across, {said} up, both with 95 % intervals over "
        f"seeds. {said[0].upper()}{said[1:]}: "
        + spelled((r.method, r.y, r.y_low, r.y_high) for r in data.itertuples()),
        data,
        chart(data, f"{statistic_label(across)} of the score", said),
    )


def _said(name: str, ranking: str) -> str:
    """``mean of value_cvar``; what is no metric stays as it is."""
    metric = name.removesuffix(f"_{ranking}")
    return statistic_label(name) if metric == name else f"{statistic_label(ranking)} of {metric}"


def risk_column(leaderboard: pd.DataFrame, ranking: str) -> str:
    """The first secondary score that is a CVaR by its name; else the CVaR 0.25 over seeds."""
    for column in leaderboard.columns:
        if "cvar" in column and column.endswith(f"_{ranking}"):
            return str(column)
    return "worst_quarter"


def labels(x: Sequence[float], y: Sequence[float], step: float) -> list[float]:
    """Heights of names, moved apart where points of one side are closer than they are tall.

    Args:
        x: of the points; the left half has its names on the right, and the other way around.
        y: of the points.
        step: the least distance of two names, in units of ``y``.
    """
    middle = (min(x) + max(x)) / 2
    placed = list(y)
    for side in (True, False):
        own = sorted((i for i in range(len(y)) if (x[i] <= middle) is side), key=y.__getitem__)
        for last, i in pairwise(own):
            placed[i] = max(placed[i], placed[last] + step)
    return placed
