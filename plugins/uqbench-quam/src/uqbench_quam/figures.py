"""What forward passes are worth: Figure 4 of Schweighofer et al. 2023, on other data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure
from uqbench.plots import theme
from uqbench.plots.words import natural, number

PASSES = {
    "quam": ("QUAM", "forward_passes"),
    "mc-dropout": ("MC dropout", "passes"),
    "deep-ensemble": ("deep ensemble", "members"),
}
"""By estimator: its name, and the setting that says how many forward passes a point costs."""
KINDS = [kind for kind, _ in PASSES.values()]
APART = dict(zip(KINDS, (1.05, 0.95, 1.0), strict=True))
"""By which marks of equally many passes stand apart."""
WITHOUT_MODEL = "nearest-input"


def auroc_by_passes(board: StoredBoard) -> Iterator[Figure]:
    """AUROC with its interval by the forward passes of a point; a panel a task."""
    rows = [
        {
            "task": row["task"],
            "method": row["method"],
            "kind": kind,
            "passes": passes,
            "auroc": row["auroc"],
            "low": row["auroc_low"],
            "high": row["auroc_high"],
        }
        for row in board.tasks.to_dict("records")
        for kind, passes in [_cost(board.configs[f"{row['task']}/{row['method']}"])]
        if passes
    ]
    data = pd.DataFrame(rows)
    if data.empty or data[data["kind"] == "QUAM"]["passes"].nunique() < 2:
        return
    data = data.sort_values(["task", "kind", "passes"], ignore_index=True)
    mean = data.groupby(["kind", "passes"])["auroc"].mean()
    said = [
        f"{kind} {number(of.iloc[0])} with {of.index[0]:,} passes, {number(of.iloc[-1])} with "
        f"{of.index[-1]:,}"
        for kind in KINDS
        for of in [mean[kind]]
    ]
    nearest = board.tasks[board.tasks["method"] == WITHOUT_MODEL]
    found = ", ".join(f"{r.auroc:.3f} on {r.task}" for r in nearest.itertuples())
    without = "" if nearest.empty else f" The nearest training image (gray), no pass: {found}."
    yield Figure(
        "auroc-by-passes",
        f"{board.title}: AUROC by forward passes",
        f"AUROC with 95 % intervals over seeds by the forward passes that a point costs. Mean over "
        f"tasks: {'; '.join(said)}.{without} A step of QUAM's search counts as three passes, as in "
        f"the paper; the training of an ensemble's members is not counted.",
        data,
        _chart(data, nearest),
    )


def _cost(method: Mapping[str, Any]) -> tuple[str, int | None]:
    kind, setting = PASSES.get(str(method["estimator"]), ("", ""))
    return kind, method["config"].get(setting)


def _chart(data: pd.DataFrame, nearest: pd.DataFrame) -> alt.FacetChart:
    legend = alt.Legend(title=None, orient="bottom", symbolSize=90)
    x = alt.X("at:Q", title="forward passes a point", scale=alt.Scale(type="log"),
              axis=alt.Axis(values=[1, 10, 100, 1_000], format=","))  # fmt: skip
    y = alt.Y("low:Q", title="AUROC", scale=alt.Scale(zero=False), axis=theme.up(5))
    color = alt.Color("kind:N", sort=KINDS, scale=theme.colors(KINDS), legend=legend)
    own = alt.datum.kind != ""
    base = alt.Chart(width=230, height=210).transform_filter(own)
    across = nearest.assign(kind="", first=data["passes"].min(), last=data["passes"].max())
    drawn = data.assign(at=data["passes"] * data["kind"].map(APART))
    everything = pd.concat([drawn, across[["task", "kind", "first", "last", "auroc"]]])
    layers = [
        alt.Chart()
        .transform_filter(alt.datum.kind == "")
        .mark_rule(color=theme.FAINT, strokeWidth=2)
        .encode(alt.X("first:Q"), alt.Y("auroc:Q"), x2="last:Q"),
        base.mark_rule(strokeWidth=1.5).encode(x, y, y2="high:Q", color=color),
        base.mark_line(strokeWidth=1).encode(x, alt.Y("auroc:Q"), color=color),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x,
            alt.Y("auroc:Q"),
            color=color,
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=KINDS), sort=KINDS, legend=legend),
        ),
    ]
    tasks = sorted(set(data["task"]), key=natural)
    found: alt.FacetChart = alt.layer(*layers, data=everything).facet(
        facet=alt.Facet("task:N", title=None, sort=tasks), columns=2, spacing=24
    )
    return found
