"""Stated uncertainty against the truth: reliability diagram, PIT, coverage over training.

The curves are those of a board's ``uncertainty.parquet``, each method's mean over its runs: of the
last occasion on which the agents were asked, ``training`` of all occasions.
"""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.curves import LEVEL
from uqbench.boards.stored import StoredBoard
from uqbench.contract.figure import Figure, NotDrawableError
from uqbench_report.plots import theme

KINDS = {
    "reliability": ("level of the intervals", "share covered", "Reliability"),
    "pit": ("predicted probability", "share of returns below", "PIT"),
    "training": ("environment steps", "share covered", "Coverage over training"),
}
"""By curve: axes and title."""


def frame(curves: pd.DataFrame, kind: str) -> pd.DataFrame:
    """``task``, ``method``, ``x``, ``y``, ``low``, ``high``, ``runs``, ``gray``.

    ``gray`` is what to compare with.

    Args:
        curves: of :func:`~uqbench.boards.curves.mean_curves`.
        kind: of :data:`KINDS`.
    """
    points = curves[curves["curve"] == kind].drop(columns="curve").reset_index(drop=True)
    if points.empty:
        why = "its agents are not asked, or do not predict what it takes (docs/uncertainty.md)."
        raise NotDrawableError(f"no run has the curve {kind!r}: {why}")
    points["low"], points["high"] = _within(points["y"], points["high"] - points["y"])
    return points.assign(gray=LEVEL if kind == "training" else points["x"])


def _within(share: pd.Series, reach: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Wilson's (1927) interval of a mean share, which stays between 0 and 1.

    The number of trials is the one for which a share would vary as those of the runs do, the
    effective sample size of Korn & Graubard (1998); where all runs have 0, or 1, it has no width.

    Args:
        share: mean over runs.
        reach: of Student's interval, from its middle.
    """
    variance = share * (1 - share)
    k = (reach**2 / variance).where(variance > 0, 0 * reach)  # quantile squared over the trials
    middle = (share + k / 2) / (1 + k)
    width = np.sqrt(k * variance + k**2 / 4) / (1 + k)
    return (middle - width).clip(0, 1), (middle + width).clip(0, 1)  # as numbers are rounded


def chart(data: pd.DataFrame, kind: str, methods: Sequence[str]) -> alt.FacetChart:
    """A panel a task, a line a method; gray is what to compare with."""
    x, y, _ = KINDS[kind]
    form = "~s" if kind == "training" else alt.Undefined
    across = alt.X("x:Q", title=x, axis=alt.Axis(tickCount=4, format=form))
    base = alt.Chart(width=210, height=210).encode(across)
    up = alt.Y("y:Q", title=y, axis=theme.up(5))
    gray = base.mark_line(color=theme.FAINT, strokeWidth=1).encode(alt.Y("gray:Q"))
    lines = theme.with_bands(base, up, methods, data["method"], 0.1, point=kind == "training")
    return theme.by_task(alt.layer(gray, *lines, data=data), data["task"])


def figure(board: StoredBoard, kind: str) -> Figure:
    """One kind of curve of a board."""
    data, (x, y, name) = frame(board.uncertainty, kind), KINDS[kind]
    gray = f"of {100 * LEVEL:.0f} % intervals; " * (kind == "training") + "gray is perfect"
    gaps = (data["y"] - data["gray"]).groupby(data["method"]).mean().sort_values()
    distances = "; ".join(f"{method} {gap:+.3f}" for method, gap in gaps.items())
    return Figure(
        kind,
        f"{board.title}: {name.lower() if name != 'PIT' else name}",
        f"{y.capitalize()} by {x}, mean over runs with pointwise 95 % intervals; {gray}.",
        data,
        chart(data, kind, board.methods),
        f"Mean distance from gray: {distances}.",
    )
