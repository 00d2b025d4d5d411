"""Trust: how well methods do, across, and how many true values their intervals hold, up."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import altair as alt
import pandas as pd

from uqbench.boards.calibration import band, coverage_column
from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.plots.intervals import ENDS, estimates
from uqbench.plots.labels import named
from uqbench.plots.words import spelled, statistic_label

SIZE = WIDTH, HEIGHT = 420, 300
UP = [-0.14, 1.04]
LETTERS = 78
"""Letters of a line of the title."""
BELOW = -0.09
"""Height of the methods that state no intervals."""
COLORS = {
    "honest": theme.GREEN,
    "overconfident": theme.VERMILION,
    "underconfident": theme.BLUE,
    "undecided": theme.ORANGE,
    "states none": theme.MUTED,
}


def frame(leaderboard: pd.DataFrame, ranking: str) -> tuple[pd.DataFrame, float]:
    """``method``, ``role``, ``word``, ``x``, ``x_low``, ``x_high``, ``y``, ``y_low``, ``y_high``.

    All methods, the best trivial baseline and the best oracle.

    ``x`` is the ranking statistic of the score, ``y`` the share of true values inside the stated
    intervals, NaN for methods that state none.

    Returns:
        The frame, and the level of the intervals.

    Raises:
        NotDrawableError: the board does not ask for intervals.
    """
    column = coverage_column(map(str, leaderboard))
    if column is None or "calibration" not in leaderboard:
        raise NotDrawableError(
            "the board has no metric named coverage_90 or coverage_95: its agents are not asked "
            "for intervals (docs/uncertainty.md)."
        )
    data = estimates(leaderboard, ranking, column[0])
    data.insert(2, "word", leaderboard["calibration"])
    data[["y_low", "y_high"]] = data[["y_low", "y_high"]].clip(0, 1)  # it is known to be a share
    data = data[data["x"].notna()]
    baselines = data[data["role"] != "method"]
    best = baselines.loc[baselines.groupby("role")["x"].idxmax()]
    best = best.assign(y=float("nan"), y_low=float("nan"), y_high=float("nan"))
    return pd.concat([data[data["role"] == "method"], best], ignore_index=True), column[1]


def chart(
    data: pd.DataFrame, level: float, across: str, title: str
) -> alt.LayerChart | alt.FacetChart:
    """Points with both intervals, the band of honest ones; baselines are dashed lines."""
    methods = data[data["role"] == "method"].assign(height=lambda own: own["y"].fillna(BELOW))
    lowest, highest = data[[f"x{end}" for end in ENDS]].stack().agg(["min", "max"])
    slack = 0.04 * (highest - lowest) or 1.0
    ends = [float(lowest - slack), float(highest + slack)]
    x_scale, y_scale = (alt.Scale(domain=pair, nice=False) for pair in (ends, UP))
    percent = theme.up(5, "%")
    percent["values"] = [0, 0.25, 0.5, 0.75, 1]
    x = alt.X("x:Q", title=across, scale=x_scale, axis=alt.Axis(tickCount=6, grid=False))
    said = f"true values inside {100 * level:.0f} % intervals"
    y = alt.Y("height:Q", title=said, scale=y_scale, axis=percent)
    used = [word for word in COLORS if word in set(methods["word"])]
    legend = alt.Legend(title=None, orient="top", symbolType="circle", values=used)
    scale = alt.Scale(domain=[*COLORS], range=[*COLORS.values()])
    color = alt.Color("word:N", scale=scale, legend=legend)
    least, most = band(level)
    base = alt.Chart(methods, width=WIDTH, height=HEIGHT)
    honest = alt.Chart(pd.DataFrame({"height": [least], "most": [most]}))
    area = honest.mark_rect(color=theme.GREEN, opacity=0.14).encode(alt.Y("height:Q"), y2="most:Q")
    baselines = data[data["role"] != "method"].sort_values("x").reset_index(drop=True)
    baselines = baselines.assign(height=[0.72 - 0.06 * (i % 6) for i in range(len(baselines))])
    lines = alt.Chart(baselines).encode(alt.X("x:Q"))
    rules = lines.mark_rule(color=theme.MUTED, strokeDash=[2, 3])
    words = lines.encode(alt.Y("height:Q"), text="method:N")
    style: dict[str, Any] = {"fontSize": 11, "color": theme.MUTED}
    middle = (ends[0] + ends[1]) / 2
    left = words.transform_filter(f"datum.x < {middle}").mark_text(align="left", dx=4, **style)
    right = words.transform_filter(f"datum.x >= {middle}").mark_text(align="right", dx=-4, **style)
    points = base.mark_point(size=60, filled=True, opacity=1).encode(x, y, color=color)
    rule = base.mark_rule(strokeWidth=1.4)
    across_rule = rule.encode(alt.X("x_low:Q"), y, x2="x_high:Q", color=color)
    up_rule = rule.encode(x, alt.Y("y_low:Q"), y2="y_high:Q", color=color)
    names = named(methods, "height", (ends, UP), SIZE)
    return alt.layer(area, rules, left, right, across_rule, up_rule, points, *names).properties(
        title=alt.TitleParams(wrap(title, LETTERS, break_on_hyphens=False), fontSize=13)
    )


def figure(board: StoredBoard) -> Figure:
    """The board's score against how many true values lie in its methods' stated intervals."""
    data, level = frame(board.leaderboard, board.ranking)
    own = data[data["role"] == "method"]
    if own.empty:
        raise NotDrawableError(f"{board.folder}: no method has all of its runs.")
    stated = own[own["y"].notna()].sort_values("y", ascending=False)
    return Figure(
        "trust",
        f"{board.title}: {board.finding}",
        f"{statistic_label(board.ranking)} of the score across; up, the share of true values "
        f"inside the stated {100 * level:.0f} % intervals. Green: where honest intervals lie. "
        + spelled((r.method, r.y, r.y_low, r.y_high) for r in stated.itertuples()),
        data,
        chart(data, level, f"{statistic_label(board.ranking)} of the score", board.finding),
    )
