"""Intervals: a statistic of each method with its 95 % interval, the first set in color."""

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench_report.plots import theme
from uqbench_report.plots.words import said, score_label, spelled

ENDS = ("", "_low", "_high")
ROW = 22
"""Pixels of a method's row."""
SHAPES = {"method": "circle", "trivial": "square", "oracle": "diamond", "unranked": "triangle"}
ROLES = alt.Scale(domain=list(SHAPES), range=list(SHAPES.values()))


def estimates(leaderboard: pd.DataFrame, *names: str) -> pd.DataFrame:
    """``method``, ``role``, then of each name ``x``, ``x_low``, ``x_high``, ``y``, ….

    Args:
        leaderboard: ``leaderboard.csv``.
        names: of columns of it that have an interval, such as ``"iqm"``; at most two.
    """
    table = leaderboard[["method", "role", *(f"{name}{end}" for name in names for end in ENDS)]]
    axes = [f"{axis}{end}" for axis in "xy"[: len(names)] for end in ENDS]
    return table.set_axis(["method", "role", *axes], axis="columns")


def frame(leaderboard: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """``method``, ``role``, ``estimate``, ``low``, ``high``, ``first``; only scored methods.

    Args:
        leaderboard: ``leaderboard.csv``.
        statistic: one of its columns that has an interval, such as ``"iqm"``.
    """
    table = estimates(leaderboard, statistic)
    table.columns = ["method", "role", "estimate", "low", "high"]
    table["first"] = leaderboard.get("may_be_first", "") == "yes"  # older boards do not say
    return table[table["estimate"].notna()].reset_index(drop=True)


def chart(data: pd.DataFrame, label: str) -> alt.LayerChart | alt.FacetChart:
    """A row a method, in the frame's order; ``label`` is the axis's title."""
    data = data.assign(
        text=[f"{round(x, 3) + 0.0:.3f}".replace("-", "−") for x in data["estimate"]],
        said=said(data["method"], data[["estimate", "low", "high"]]),
    )
    y = alt.Y("method:N", sort=list(data["method"]), title=None)
    base = alt.Chart(width=230, height=alt.Step(ROW)).encode(y)
    color = alt.condition("datum.first", alt.value(theme.BLUE), alt.value(theme.MUTED))
    scale = alt.Scale(zero=False, nice=True)
    x = alt.X("low:Q", title=label, scale=scale, axis=alt.Axis(tickCount=5))
    rules = base.mark_rule(strokeWidth=1.5).encode(x, alt.X2("high:Q"), color=color)
    points = base.mark_point(size=46, opacity=1, strokeWidth=1.5, aria=True).encode(
        alt.X("estimate:Q"),
        alt.Description("said:N"),
        color=color,
        fill=alt.condition("datum.first", alt.value(theme.BLUE), alt.value(theme.WHITE)),
        shape=alt.Shape("role:N", scale=ROLES, legend=None),
    )
    words = base.mark_text(align="right", dx=48).encode(alt.Text("text:N"), x=alt.value("width"))
    return alt.layer(rules, points, words, data=data)


def figure(board: StoredBoard) -> Figure:
    """The board's ranking statistic."""
    data = frame(board.leaderboard, board.ranking)
    if data.empty:
        raise NotDrawableError(f"{board.folder}: no method has all of its runs.")
    what = score_label(board)
    return Figure(
        "intervals",
        f"{board.title}: {what}",
        f"{what[0].upper()}{what[1:]} of {len(data)} rows with 95 % intervals over seeds."
        + (" Filled and blue: may be first." if data["first"].any() else ""),
        data,
        chart(data, f"{what}, 95 % interval"),
        spelled((r.method, r.estimate, r.low, r.high) for r in data.itertuples()),
    )
