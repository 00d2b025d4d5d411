"""A matrix of shares: a square a pair of names, its color and its number saying how large."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench_report.plots import theme

ENDS = ("#b35806", "#f3f4f6", "#0b5c93")
"""Colors of 0, of the middle, and of 1."""


def chart(
    data: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], middle: float
) -> alt.LayerChart | alt.FacetChart:
    """Percent, and a dot where a share is known to be off the middle.

    Args:
        data: ``row``, ``column``, ``share``, ``sure`` (whether it has a dot), ``said`` (what a
            square says when it is pointed at).
        rows: their order.
        columns: their order.
        middle: the share that has no color.
    """
    data = data.sort_values(["row", "column"], key=lambda of: of.map([*rows, *columns].index))
    data = data.assign(text=[f"{100 * value:.0f}" for value in data["share"]])
    top = alt.Axis(orient="top", labelAngle=-50, grid=False, labelLimit=180, labelColor=theme.INK)
    side = max(22, min(34, 350 // len(columns)))  # 100 fits in the least
    base = alt.Chart(width=alt.Step(side), height=alt.Step(side)).encode(
        alt.X("column:N", sort=list(columns), title=None, axis=top),
        alt.Y("row:N", sort=list(rows), title=None),
    )
    scale = alt.Scale(domain=[0, middle, 1], range=list(ENDS), interpolate="lab")
    cells = base.mark_rect(stroke=theme.WHITE, strokeWidth=2, aria=True).encode(
        alt.Color("share:Q", scale=scale, legend=None), alt.Description("said:N")
    )
    dark = f"datum.share < {0.28 * middle} || datum.share > {1 - 0.28 * (1 - middle)}"
    ink = alt.condition(dark, alt.value(theme.ON_DARK), alt.value(theme.ON_LIGHT))
    words = base.mark_text(fontSize=11).encode(alt.Text("text:N"), color=ink)
    dots = (
        base.transform_filter("datum.sure")
        .mark_point(shape="circle", size=9, filled=True, opacity=1, yOffset=round(0.3 * side))
        .encode(color=ink)
    )
    return alt.layer(cells, words, dots, data=data)
