"""Figures of scores that somebody has: as SVG, or in a matplotlib subplot of theirs.

The axes that are drawn on are given: matplotlib itself is not imported.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import label
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.figure import Figure
from uqbench.plots import intervals, pairs, theme
from uqbench.plots.catalog import draw as of_board
from uqbench.plots.words import spelled
from uqbench.registry.load_host import load_host

OF_BOARDS = ("intervals", "pairs")
CURVES = {
    "profile": (
        "performance profile",
        "share of runs above",
        "Share of runs above a score, by method, with pointwise 95 % bands (of at most eight "
        "methods).",
    ),
    "efficiency": (
        "sample efficiency",
        "{0}",
        "{0} of the runs at each step, with pointwise 95 % bands; nothing is interpolated across a "
        "gap.",
    ),
}
ROWS = {
    "intervals": ("", "{0} score", ""),
    "pairs": ("", "P(first > second)", ""),
    "area": (
        "mean height of the curves",
        "{0} of the mean height, 95 % interval",
        "{0} of the mean height of each run's curve, with 95 % intervals.",
    ),
    "steps": (
        "steps to a score",
        "steps to {0} {1:g}",
        "First step at which the {0} of a method's runs is at {1:g}; lines end where its pointwise "
        "95 % intervals are. A method that never is has no row.",
    ),
}
FIGURES = {**ROWS, **CURVES}
"""Those of a comparison: title, what is drawn, caption; of the ranking statistic and a threshold.

:data:`OF_BOARDS` are drawn as those of a board, which has titles of its own, but on given axes.
"""
AXES = {"profile": ("threshold", "share"), "efficiency": ("step", "value")}
"""Columns that a curve goes along, and up."""
MOST_BANDS = 8
"""Methods whose bands can be told apart."""
MOST_ROWS = 40
"""Pairs that a subplot has a row for."""
INTERVAL = ["method", "estimate", "low", "high"]


def draw(found: Any, what: str, ax: Any = None, threshold: float | None = None) -> Any:
    """A figure of a comparison (:class:`uqbench.Compared`), or ``ax`` with it.

    Raises:
        UqbenchError: there is none of that name, or it is of scores by step and there are none.
    """
    if what not in FIGURES:
        raise unknown("figure", what, FIGURES, "A comparison has")
    if (what == "steps") != (threshold is not None):
        raise UqbenchError("expected a threshold with the figure steps, and with no other.")
    if ax is None and what in OF_BOARDS:
        with tempfile.TemporaryDirectory() as folder:
            return of_board(StoredBoard.read(found.write(folder)), what, None, load_host())
    methods = [*found.ranks["method"]] or [*found.board.matrices]  # the best first
    title, shown, text = (of.format(label(found.board.ranking), threshold) for of in FIGURES[what])
    if what in CURVES:
        data = found.profile() if what == "profile" else found.efficiency
        if ax is not None:
            return _curves_on(ax, data, methods, *AXES[what], shown)
        chart = _curves(data, methods, *AXES[what], shown)
        own = data.groupby("method", sort=False).tail(1) if what == "efficiency" else data.iloc[:0]
        ends = own[["method", AXES[what][1], "low", "high"]].itertuples(index=False)
        numbers = f"At the end: {spelled(ends)}" * bool(len(own))
    else:
        data = _rows(found, what, methods, threshold)
        if ax is not None:
            return _rows_on(ax, data, what, shown)
        own = data[np.isfinite(data["estimate"])].assign(role="method", first=True)
        high = own["high"].where(np.isfinite(own["high"]), own["estimate"])
        chart = intervals.chart(own.assign(high=high), shown)
        numbers = spelled(own[INTERVAL].itertuples(index=False))
    return Figure(what, f"{found.board.plan.suite.name}: {title}", text, data, chart, numbers)


def _rows(found: Any, what: str, methods: Sequence[str], threshold: float | None) -> pd.DataFrame:
    """Data of :data:`INTERVAL`."""
    if what == "pairs":
        own = pairs.frame(found.pairs, methods).query("improvement >= 0.5")
        own = own.assign(method=own["row"] + " > " + own["column"])
        own = own.drop_duplicates(["improvement", "low", "high", "method"])
    elif what == "intervals":
        own = found.intervals.query("statistic == @found.board.ranking")
        own = own.set_index("method").reindex(methods).reset_index()
    else:
        own = found.area if threshold is None else found.steps_to(threshold)
    names = dict.fromkeys(("value", "improvement", "steps"), "estimate")
    return own.rename(columns=names)[INTERVAL]


def _curves(data: pd.DataFrame, methods: Sequence[str], x: str, y: str, title: str) -> Any:
    """Lines with their bands."""
    ticks = alt.Axis(tickCount=5, format="~s" if x == "step" else alt.Undefined)
    across = alt.X(f"{x}:Q", title=x if x == "step" else "score", axis=ticks)
    up = alt.Y(f"{y}:Q", title=title, scale=alt.Scale(zero=x != "step"), axis=theme.up(5))
    base = alt.Chart(data, width=320, height=220).encode(across)
    opacity = 0.14 * (len(methods) <= MOST_BANDS)
    return alt.layer(*theme.with_bands(base, up, methods, data["method"], opacity=opacity))


def _curves_on(
    ax: Any, data: pd.DataFrame, methods: Sequence[str], x: str, y: str, title: str
) -> Any:
    """The same on matplotlib's axes, in their own style; a line breaks where it has no value."""
    steps = np.unique(data[x])
    for method in methods:
        own = data[data["method"] == method].set_index(x).reindex(steps)
        [line] = ax.plot(own.index, own[y], label=method)
        if len(methods) <= MOST_BANDS:
            color = line.get_color()
            ax.fill_between(own.index, own["low"], own["high"], alpha=0.15, color=color)
    ax.set(xlabel=x if x == "step" else "score", ylabel=title)
    ax.legend(frameon=False)
    return ax


def _rows_on(ax: Any, data: pd.DataFrame, what: str, title: str) -> Any:
    """Intervals on matplotlib's axes, a row each.

    Raises:
        UqbenchError: there are too many.
    """
    if len(data) > MOST_ROWS:
        raise UqbenchError(
            f"{what} has {len(data)} rows; expected at most {MOST_ROWS} in a subplot: compare "
            f"fewer methods, or leave ax out."
        )
    shown = data[np.isfinite(data["estimate"])].iloc[::-1]
    ends = [shown["estimate"] - shown["low"], shown["high"] - shown["estimate"]]
    reach = np.nan_to_num(np.array(ends, float), nan=0.0, posinf=0.0)
    ax.errorbar(shown["estimate"], shown["method"], xerr=reach, fmt="o", capsize=3)
    if what == "pairs":
        ax.axvline(0.5, color="0.7", linewidth=1, zorder=0)
    ax.set_xlabel(title)
    return ax
