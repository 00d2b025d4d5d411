"""Performance profiles (Agarwal et al. 2021): the share of runs with a score above τ, for all τ."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.figure import Figure, NotDrawableError
from uqbench.plots import theme
from uqbench.plots.words import spoken
from uqbench.statistics.estimate import share

POINTS = 61


def frame(scores: pd.DataFrame, taus: Sequence[float] | None = None) -> pd.DataFrame:
    """``method``, ``tau``, ``share``, ``low``, ``high``.

    The share is rliable's ``run_score_deviation``: over all runs of all tasks, which count alike.
    The band is pointwise, of seeds with all their tasks; NaN with fewer than three.

    Args:
        scores: ``scores.csv``; methods with a run that has no score are left out.
        taus: where to evaluate; None for a grid over all scores.
    """
    matrices = {}
    for method, own in scores.groupby("method", sort=True):
        matrix = own.pivot(index="seed", columns="task", values="score").to_numpy(np.float64)
        if np.isfinite(matrix).all():
            matrices[str(method)] = matrix  # [seeds, tasks]
    if taus is None and matrices:
        values = np.concatenate([matrix.ravel() for matrix in matrices.values()])
        slack = 0.02 * (values.max() - values.min()) or 0.5
        taus = np.linspace(values.min() - slack, values.max() + slack, POINTS).tolist()
    rows = [
        (method, tau, (matrix > tau).mean(), band.low, band.high)
        for method, matrix in matrices.items()
        for tau, band in ((tau, share(matrix > tau)) for tau in taus or ())
    ]
    data = pd.DataFrame(rows, columns=["method", "tau", "share", "low", "high"])
    return data.astype(dict.fromkeys(["low", "high"], float))


def chart(
    data: pd.DataFrame, methods: Sequence[str], label: str
) -> alt.LayerChart | alt.FacetChart:
    """A line a method."""
    color, dash = theme.lines(methods, data["method"])
    scale = alt.Scale(zero=False, nice=False)
    x = alt.X("tau:Q", title=label, scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("share:Q", title="share of runs above τ", axis=theme.up(4, "%"))
    base = alt.Chart(width=300, height=220).encode(x, color)
    lines = base.mark_line(interpolate="step-after", strokeWidth=1.8).encode(y, dash)
    bands = base.mark_area(interpolate="step-after", opacity=0.10).encode(y="low:Q", y2="high:Q")
    return alt.layer(bands, lines, data=data)


def figure(board: StoredBoard) -> Figure:
    """The profiles of a board's fully scored methods."""
    data = frame(board.scores)
    if data.empty:
        raise NotDrawableError(f"{board.folder}: no method has all of its runs.")
    return Figure(
        "profiles",
        f"{board.title}: performance profiles",
        "Share of runs with a score above τ, with pointwise 95 % bands.",
        data,
        chart(data, board.methods, f"score τ ({spoken(board.primary['name'])})"),
    )
