"""What runs say of their uncertainty, against the truth: reliability, sparsification and PIT.

The curves are those of a board's ``uncertainty.parquet``: of the last occasion on which the agents
were asked, each method's mean over its runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from uqbench.boards.uncertainty_curves import mean_curves
from uqbench.figure import BoardTables, Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.plots.words import natural

KINDS = {
    "reliability": ("stated level", "share covered", "Reliability", "diagonal"),
    "sparsification": ("share left out", "mean error of the rest", "Sparsification", ""),
    "pit": ("predicted probability", "share of returns below", "PIT", "diagonal"),
}
"""By curve: axes, title, and whether the diagonal is perfect."""


def frame(curves: pd.DataFrame, kind: str) -> pd.DataFrame:
    """``task``, ``method``, ``x``, ``y``, ``low``, ``high``, ``runs``.

    Sparsification is over the error of all, so that methods with different errors can be compared;
    ``best`` is what their own errors allow.

    Args:
        curves: of :func:`~uqbench.boards.uncertainty_curves.mean_curves`.
        kind: of :data:`KINDS`.
    """
    found = curves[curves["curve"] == kind].drop(columns="curve").reset_index(drop=True)
    if found.empty:
        raise NotDrawableError(
            f"no run has the curve {kind!r}: its agents are not asked, or do not predict what it "
            f"takes (docs/uncertainty.md)."
        )
    if kind == "sparsification":
        keys = ["task", "method"]
        best = curves[curves["curve"] == f"{kind}_best"]
        found = found.merge(best[[*keys, "x", "y"]].rename(columns={"y": "best"}), on=[*keys, "x"])
        first = found.groupby(keys)["y"].transform("first")
        for column in ("y", "low", "high", "best"):
            found[column] = found[column] / first
    return found


def chart(data: pd.DataFrame, kind: str, methods: Sequence[str]) -> alt.FacetChart:
    """A panel a task, a line a method; gray is perfect."""
    order = [name for name in methods if name in set(data["method"])]
    x, y, _, diagonal = KINDS[kind]
    legend = theme.lines()
    base = alt.Chart(width=210, height=210)
    across = alt.X("x:Q", title=x, axis=alt.Axis(tickCount=5))
    color = alt.Color("method:N", sort=order, scale=theme.colors(order), legend=legend)
    line = base.mark_line(strokeWidth=2).encode(
        across,
        alt.Y("y:Q", title=y, axis=theme.up(5)),
        color=color,
        strokeDash=alt.StrokeDash("method:N", sort=order, scale=theme.dashes(order), legend=legend),
    )
    band = base.mark_area(opacity=0.1).encode(across, alt.Y("low:Q"), y2="high:Q", color=color)
    gray = base.mark_line(color=theme.FAINT, strokeWidth=1)
    perfect = (
        gray.encode(across, alt.Y("x:Q"))
        if diagonal
        else gray.encode(across, alt.Y("best:Q"), detail="method:N")
    )
    tasks = sorted(set(data["task"]), key=natural)
    return alt.layer(perfect, band, line, data=data).facet(
        facet=alt.Facet("task:N", title=None, sort=tasks), columns=1 if len(tasks) == 1 else 2
    )


def figure(board: BoardTables, kind: str) -> Figure:
    """One kind of curve of a board."""
    return of_curves(board.title, board.uncertainty, kind, board.methods)


def of_curves(title: str, curves: pd.DataFrame, kind: str, methods: Sequence[str]) -> Figure:
    """The same of ``Results.uncertainty()``, the curves of single runs, or of their means."""
    data = frame(mean_curves(curves) if "step" in curves else curves, kind)
    x, y, name, diagonal = KINDS[kind]
    ideal = data["x"] if diagonal else data["best"]
    gaps = (data["y"] - ideal).abs().groupby(data["method"]).mean().sort_values()
    said = "; ".join(f"{method} {gap:.3f}" for method, gap in gaps.items())
    return Figure(
        kind,
        f"{title}: {name.lower() if name != 'PIT' else name}",
        f"{y.capitalize()} by {x}, mean over runs with pointwise 95 % intervals; gray is perfect. "
        f"Mean distance from it: {said}.",
        data,
        chart(data, kind, methods),
    )
