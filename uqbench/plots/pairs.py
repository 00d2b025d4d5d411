"""Pairs of methods: the probability that a run of the row beats one of the column."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.wording import count

CELL = 34
"""Pixels of a pair."""


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
    other = one.assign(
        row=one["column"],
        column=one["row"],
        improvement=1 - one["improvement"],
        low=1 - one["high"],
        high=1 - one["low"],
    )
    columns = ["row", "column", "improvement", "low", "high", "p_adjusted"]
    return pd.concat([one, other])[columns].reset_index(drop=True)


def chart(data: pd.DataFrame, methods: Sequence[str]) -> alt.LayerChart | alt.FacetChart:
    """A square a pair; a dot where the difference is significant among all pairs, at 5 %."""
    order = [name for name in methods if name in set(data["row"])]
    data = data.assign(
        text=[f"{100 * value:.0f}" for value in data["improvement"]],
        sure=data["p_adjusted"] <= 0.05,
        strong=np.abs(data["improvement"] - 0.5) > 0.36,
    )
    size = CELL * len(order)
    base = alt.Chart(width=size, height=size).encode(
        alt.X("column:N", sort=order, title=None,
              axis=alt.Axis(orient="top", labelAngle=-50, grid=False, labelLimit=180,
                            labelColor=theme.INK)),
        alt.Y("row:N", sort=order, title=None),
    )  # fmt: skip
    scale = alt.Scale(
        domain=[0, 0.5, 1], range=["#b35806", "#f3f4f6", "#0b5c93"], interpolate="lab"
    )
    cells = base.mark_rect(stroke=theme.WHITE, strokeWidth=2).encode(
        color=alt.Color("improvement:Q", scale=scale, legend=None)
    )
    ink = alt.condition("datum.strong", alt.value("#fefefe"), alt.value("#1b1f25"))
    words = base.mark_text(fontSize=11, dy=0).encode(text="text:N", color=ink)
    dots = (
        base.transform_filter("datum.sure")
        .mark_point(shape="circle", size=9, filled=True, opacity=1, yOffset=-11, xOffset=11)
        .encode(color=ink)
    )
    return alt.layer(cells, words, dots, data=data)


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
