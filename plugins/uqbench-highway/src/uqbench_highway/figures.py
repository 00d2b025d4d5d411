"""Table 1 of Eriksson et al. 2022 against the board: value, its CVaR 0.25, crashes."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.plots import theme

TABLE_1 = {
    "sentinel-4-composite": (27.43, 24.16, 341),
    "sentinel-4-additive": (26.82, 21.54, 646),
    "sentinel-4-neutral": (26.56, 20.88, 617),
    "cdqn": (25.96, 19.50, 840),
    "ua-dqn-epsilon": (24.46, 16.9, 1061),
    "vdqn-cvar-epsilon": (24.39, 16.64, 871),
    "vdqn-epsilon": (23.30, 14.29, 1252),
}
"""Published value, CVaR 0.25 and crashes, by the method that stands for the row."""
COLUMNS = {"value": "value", "value_cvar": "CVaR 0.25", "crashes": "crashes"}


def table_1(board: StoredBoard) -> Iterator[Figure]:
    """The measured numbers with their intervals beside the published ones."""
    table = board.tasks.set_index("method")
    if not {*COLUMNS} <= {*table.columns}:
        return
    data = pd.DataFrame(
        [
            {
                "method": method,
                "column": heading,
                "estimate": table.loc[method, name],
                "low": table.loc[method, f"{name}_low"],
                "high": table.loc[method, f"{name}_high"],
                "published": published[place],
            }
            for method, published in TABLE_1.items()
            if method in table.index
            for place, (name, heading) in enumerate(COLUMNS.items())
        ]
    )
    if data.empty:
        return
    inside = data["published"].between(data["low"], data["high"]).sum()
    yield Figure(
        "table-1",
        f"{board.title}: against Table 1",
        f"Value, CVaR 0.25 and crashes of {data['method'].nunique()} methods with 95 % intervals "
        f"over seeds (blue), and Table 1's numbers (black): {inside} of {len(data)} lie in the "
        f"interval. Methods are in the table's order. The table does not say over which episodes "
        f"its numbers are.",
        data,
        _chart(data),
    )


def _chart(data: pd.DataFrame) -> alt.HConcatChart:
    order = list(dict.fromkeys(data["method"]))
    panels = []
    for place, column in enumerate(COLUMNS.values()):
        own = data[data["column"] == column]
        y = alt.Y("method:N", sort=order, title=None, axis=None if place else alt.Axis())
        base = alt.Chart(own, width=115, height=alt.Step(24)).encode(y)
        x = alt.X("low:Q", title=column, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=3))
        panels.append(
            base.mark_rule(strokeWidth=1.5, color=theme.BLUE).encode(x, x2="high:Q")
            + base.mark_point(filled=True, size=46, opacity=1, color=theme.BLUE).encode(
                alt.X("estimate:Q")
            )
            + base.mark_tick(thickness=2.5, size=15, color=theme.INK).encode(alt.X("published:Q"))
        )
    return alt.hconcat(*panels, spacing=18)
