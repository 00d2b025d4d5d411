"""Pairs of methods, and matrices of shares.

The share of a pair is the probability that a run of the row beats one of the column.
"""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench.contract.wording import count
from uqbench_report.plots import theme
from uqbench_report.plots.words import said

ENDS = ("#b35806", "#f3f4f6", "#0b5c93")
"""Colors of 0, of the middle, and of 1."""


def frame(pairs: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """``row``, ``column``, ``improvement``, ``low``, ``high``, ``p_adjusted``, both ways.

    ``improvement`` is the probability that a run of the row beats one of the column on the same
    task, a tie counting half (rliable's probability of improvement).

    Args:
        pairs: ``pairs.csv``.
        methods: those to show.
    """
    names = {"improvement_low": "low", "improvement_high": "high"}
    shown = pairs[pairs["first"].isin(methods) & pairs["second"].isin(methods)]
    one = shown.rename(columns={**names, "first": "row", "second": "column"})
    other = one.rename(columns={"row": "column", "column": "row", "low": "high", "high": "low"})
    other[["improvement", "low", "high"]] = 1 - other[["improvement", "low", "high"]]
    columns = ["row", "column", "improvement", "low", "high", "p_adjusted"]
    return pd.concat([one, other])[columns].reset_index(drop=True)


def chart(data: pd.DataFrame, methods: Sequence[str]) -> alt.LayerChart | alt.FacetChart:
    """A square a pair; a dot where the difference is significant among all pairs, at 5 %."""
    order = [name for name in methods if name in set(data["row"])]
    names = data["row"] + " over " + data["column"] + ":"
    cells = data.assign(
        share=data["improvement"],
        sure=data["p_adjusted"] <= 0.05,
        said=said(names, data[["improvement", "low", "high"]]),
    )
    return squares(cells, order, order, 0.5)


def figure(board: StoredBoard) -> Figure:
    """All pairs of a board's fully scored rows."""
    data = frame(board.pairs, board.methods)
    if data.empty:
        raise NotDrawableError(f"{board.folder}: no two methods have all of their runs.")
    sure = int((data["p_adjusted"] <= 0.05).sum()) // 2
    return Figure(
        "pairs",
        f"{board.title}: who beats whom",
        f"Probability in percent that a run of the row beats a run of the column, for "
        f"{count(len(data) // 2, 'pair')} of {data['row'].nunique()} rows; {sure} of the "
        f"differences are significant at a familywise error of 5 % and have a dot.",
        data,
        chart(data, board.methods),
    )


def squares(
    data: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], middle: float
) -> alt.LayerChart | alt.FacetChart:
    """A matrix: a square a pair of names, with the percent, and a dot where that is off the middle.

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
    sure = base.transform_filter("datum.sure").encode(color=ink)
    below = round(0.3 * side)
    dots = sure.mark_point(shape="circle", size=9, filled=True, opacity=1, yOffset=below)
    return alt.layer(cells, words, dots, data=data)
