"""Regret on the chain by the bonus's β: O'Donoghue et al. 2018, Figure 2."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.plots import theme
from uqbench.plots.words import number

KINDS = {
    "deviations": "bonus: sum of deviations",
    "variances": "bonus: root of the sum of variances",
}
UBE = "ube"


def regret_by_beta(board: StoredBoard) -> Iterator[Figure]:
    """Cumulative regret of the bonuses by β, and that of the UBE, which has none."""
    table = board.tasks
    if "cumulative_regret" not in table:
        return
    configs = {cell.rsplit("/", 1)[-1]: of["config"] for cell, of in board.configs.items()}
    rows = []
    for row in table.to_dict("records"):
        config = configs.get(str(row["method"]), {})
        kind = KINDS.get(str(config.get("compounds")), "UBE" if row["method"] == UBE else "")
        if kind:
            rows.append(
                {
                    "method": row["method"],
                    "kind": kind,
                    "beta": float(config.get("beta", "nan")),
                    "estimate": row["cumulative_regret"],
                    "low": row["cumulative_regret_low"],
                    "high": row["cumulative_regret_high"],
                }
            )
    data = pd.DataFrame(rows)
    bonuses = data[data["kind"] != "UBE"]
    if bonuses.empty:
        return
    best = bonuses.loc[bonuses["estimate"].idxmin()]
    ube = data[data["kind"] == "UBE"]
    said = "" if ube.empty else f"UBE: {number(ube['estimate'].iloc[0])}. "
    yield Figure(
        "regret-by-beta",
        f"{board.title}: regret by β",
        f"Cumulative regret with 95 % intervals over seeds, of {len(bonuses)} bonuses by β. {said}"
        f"The best bonus is {best['method']} with {number(best['estimate'])}.",
        data,
        _chart(bonuses, ube),
    )


def _chart(bonuses: pd.DataFrame, ube: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    kinds = sorted(set(bonuses["kind"]))
    legend = alt.Legend(title=None, orient="bottom", direction="vertical", symbolSize=90)
    x = alt.X("beta:Q", title="β", scale=alt.Scale(type="log"),
              axis=alt.Axis(values=sorted(set(bonuses["beta"])), format="~g"))  # fmt: skip
    y = alt.Y("low:Q", title="cumulative regret", scale=alt.Scale(zero=True), axis=theme.up(5))
    color = alt.Color("kind:N", sort=kinds, scale=theme.colors(kinds), legend=legend)
    base = alt.Chart(bonuses, width=300, height=210)
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x, y, y2="high:Q", color=color),
        base.mark_line(strokeWidth=1).encode(x, alt.Y("estimate:Q"), color=color),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x,
            alt.Y("estimate:Q"),
            color=color,
            shape=alt.Shape("kind:N", sort=kinds, legend=legend),
        ),
    ]
    if not ube.empty:
        across = ube.assign(left=bonuses["beta"].min(), right=bonuses["beta"].max())
        line = alt.Chart(across)
        layers += [
            line.mark_rect(color=theme.GREEN, opacity=0.18).encode(
                alt.X("left:Q"), alt.Y("low:Q"), x2="right:Q", y2="high:Q"
            ),
            line.mark_rule(color=theme.GREEN, strokeWidth=2).encode(
                alt.X("left:Q"), alt.Y("estimate:Q"), x2="right:Q"
            ),
            line.mark_text(color=theme.GREEN, align="left", dx=6, dy=-10, fontSize=12).encode(
                alt.X("left:Q"), alt.Y("estimate:Q"), text=alt.value("UBE")
            ),
        ]
    return alt.layer(*layers)
