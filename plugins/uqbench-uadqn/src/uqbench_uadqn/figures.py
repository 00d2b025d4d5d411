"""Both kinds of uncertainty, on data and off data: Clements et al. 2019, section 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.plots import theme
from uqbench.plots.words import spelled

COLUMNS = {
    "aleatoric_on": ("aleatoric", "on data"),
    "aleatoric_off": ("aleatoric", "off data"),
    "epistemic_on": ("epistemic", "on data"),
    "epistemic_off": ("epistemic", "off data"),
}


def disentangled(board: StoredBoard) -> Iterator[Figure]:
    """Aleatoric and epistemic standard deviations on data and off data, by estimator."""
    table = board.tasks
    if not {*COLUMNS} <= {*table.columns}:
        return
    data = pd.DataFrame(
        [
            {
                "task": row["task"],
                "method": row["method"],
                "part": part,
                "where": where,
                "estimate": row[name],
                "low": row[f"{name}_low"],
                "high": row[f"{name}_high"],
            }
            for row in table.to_dict("records")
            for name, (part, where) in COLUMNS.items()
        ]
    )
    yield Figure(
        "disentangled",
        f"{board.title}: on data and off data",
        "Standard deviations with 95 % intervals over seeds. The epistemic one must grow off data, "
        "the aleatoric one must not. "
        + spelled(
            (f"{r.method} {r.part} {r.where}", r.estimate, r.low, r.high) for r in data.itertuples()
        ),
        data,
        _chart(data, board.methods),
    )


def _chart(data: pd.DataFrame, board: Sequence[str]) -> alt.FacetChart:
    methods = sorted(set(data["method"]))
    places = ["on data", "off data"]
    base = alt.Chart(width=150, height=190)
    x = alt.X("where:N", sort=places, title=None, axis=alt.Axis(labelAngle=0, labelColor=theme.INK))
    y = alt.Y("low:Q", title="standard deviation", axis=theme.up(5))
    legend = alt.Legend(title=None, symbolSize=90)
    color = alt.Color("method:N", sort=methods, scale=theme.colors(methods, board), legend=legend)
    aside = alt.XOffset("method:N", sort=methods)
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(x, y, y2="high:Q", color=color, xOffset=aside),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x,
            alt.Y("estimate:Q"),
            color=color,
            xOffset=aside,
            shape=alt.Shape("method:N", sort=methods, legend=legend),
        ),
        data=data,
    ).facet(facet=alt.Facet("part:N", title=None), columns=2)
