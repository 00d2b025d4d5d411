"""Risk against return: two metrics of each method with both intervals; up and right is better."""

from __future__ import annotations

import altair as alt
import pandas as pd

from uqbench.figure import BoardTables, Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.plots.labels import named
from uqbench.plots.layers import crosses, estimates, reach
from uqbench.plots.words import spelled, statistic_label

SIZE = 340, 300


def frame(leaderboard: pd.DataFrame, across: str, up: str) -> pd.DataFrame:
    """``method``, ``x``, ``x_low``, ``x_high``, ``y``, ``y_low``, ``y_high``.

    Args:
        leaderboard: ``leaderboard.csv``.
        across: a column of it that has an interval; more is better.
        up: another.
    """
    found = estimates(leaderboard, across, up).drop(columns="role")
    return found.dropna(subset=["x", "y"]).reset_index(drop=True)


def chart(data: pd.DataFrame, across: str, up: str) -> alt.LayerChart | alt.FacetChart:
    """A cross a method, with its name."""
    ends = [reach(data, axis, 0.06) for axis in ("x", "y")]
    base = alt.Chart(data, width=SIZE[0], height=SIZE[1])
    x_scale, y_scale = (alt.Scale(domain=pair, nice=False) for pair in ends)
    x = alt.X("x:Q", title=f"{across} →", scale=x_scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=f"{up} →", scale=y_scale, axis=theme.up(5))
    points = base.mark_point(filled=True, size=50, opacity=1, color=theme.BLUE).encode(x, y)
    names = named(data, "y", (ends[0], ends[1]), SIZE)
    rules = base.mark_rule(color=theme.FAINT, strokeWidth=1.2)
    return alt.layer(*crosses(rules, x, y), points, *names)


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
