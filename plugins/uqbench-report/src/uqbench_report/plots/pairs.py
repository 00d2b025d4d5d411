"""Pairs of methods: the probability that a run of the row beats one of the column."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench.contract.wording import count
from uqbench_report.plots import matrix
from uqbench_report.plots.words import said


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
    return matrix.chart(cells, order, order, 0.5)


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
