"""Risk against return: two metrics of each method with both intervals; up and right is better."""

from __future__ import annotations

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
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


def figure(board: StoredBoard) -> Figure:
    """The board's ranking statistic, and a risk of its suite.

    That is the first secondary score that is a CVaR by its name, else the worst quarter of seeds.
    """
    end, label = f"_{board.ranking}", statistic_label(board.ranking)
    cvar = [n for n in map(str, board.leaderboard) if "cvar" in n and n.endswith(end)]
    name = cvar[0] if cvar else "worst_quarter"
    said = f"{label} of {name.removesuffix(end)}" if cvar else statistic_label(name)
    data = frame(board.leaderboard, board.ranking, name)
    if len(data) < 2:
        raise NotDrawableError(f"{board.folder}: fewer than two methods have all of their runs.")
    return Figure(
        "risk",
        f"{board.title}: risk against return",
        f"{label} of the score across, {said} up, both with 95 % intervals over seeds. "
        f"{said[0].upper()}{said[1:]}: "
        + spelled((r.method, r.y, r.y_low, r.y_high) for r in data.itertuples()),
        data,
        chart(data, f"{label} of the score", said),
    )
