"""Figures of scores that somebody has: as SVG, or in a matplotlib subplot of theirs.

The axes that are drawn on are given: matplotlib itself is not imported.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import label
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.figure import Figure
from uqbench.registry.load_host import load_host
from uqbench_report.plots import intervals, pairs, theme
from uqbench_report.plots.catalog import draw as of_board
from uqbench_report.plots.words import spelled

if TYPE_CHECKING:
    from uqbench_compare.compare import Compared

OF_BOARDS = ("intervals", "pairs")
FIGURES = (*OF_BOARDS, "profile", "efficiency", "area", "steps")
"""Those of a comparison."""
MOST_BANDS = 8
"""Methods whose bands can be told apart."""
MOST_ROWS = 40
"""Pairs that a subplot has a row for."""
INTERVAL = ["method", "estimate", "low", "high"]


def draw(found: Compared, what: str, ax: Any = None, threshold: float | None = None) -> Any:
    """A figure of a comparison, or ``ax`` with it.

    Raises:
        UqbenchError: there is none of that name, or it is of scores by step and there are none.
    """
    if what not in FIGURES:
        raise unknown("figure of a comparison", what, FIGURES)
    if (what == "steps") != (threshold is not None):
        raise UqbenchError("expected a threshold with the figure steps, and with no other.")
    if ax is not None:
        return _on(ax, found, what, threshold)
    if what in OF_BOARDS:
        with tempfile.TemporaryDirectory() as folder:
            return of_board(StoredBoard.read(found.write(folder)), what, None, load_host())
    return _figure(found, what, threshold)


def _figure(found: Compared, what: str, threshold: float | None) -> Figure:
    name, methods = f"{found.board.plan.suite.name}: ", _methods(found)
    if what in ("profile", "efficiency"):
        data, x, y, label_, text = _curve(found, what)
        chart = _lines(data, methods, x, y, label_)
        last = data.groupby("method", sort=False).tail(1) if what == "efficiency" else data.iloc[:0]
        said = spelled((r.method, getattr(r, y), r.low, r.high) for r in last.itertuples())
        numbers = f"At the end: {said}" if len(last) else ""
        return Figure(what, name + TITLES[what], text, data, chart, numbers)
    data, label_, text = _rows(found, what, threshold)
    shown = data.assign(role="method", first=True)
    shown = shown[np.isfinite(shown["estimate"])]
    drawn = shown.assign(high=shown["high"].where(np.isfinite(shown["high"]), shown["estimate"]))
    chart = intervals.chart(drawn, label_)
    said = spelled(shown[INTERVAL].itertuples(index=False))
    return Figure(what, name + TITLES[what], text, data, chart, said)


TITLES = {
    "profile": "performance profile",
    "efficiency": "sample efficiency",
    "area": "mean height of the curves",
    "steps": "steps to a score",
}


def _methods(found: Compared) -> list[str]:
    """Methods, the best first."""
    return [*found.ranks["method"]] or [*found.board.matrices]


def _curve(found: Compared, what: str) -> tuple[pd.DataFrame, str, str, str, str]:
    """Data, names of its x and y, the title of y, and the caption."""
    ranking = label(found.board.ranking)
    if what == "profile":
        text = (
            "Share of runs above a score, by method, with pointwise 95 % bands (of at most eight "
            "methods)."
        )
        return found.profile(), "threshold", "share", "share of runs above", text
    text = (
        f"{ranking} of the runs at each step, with pointwise 95 % bands; nothing is interpolated "
        f"across a gap."
    )
    return found.efficiency, "step", "value", ranking, text


def _rows(found: Compared, what: str, threshold: float | None) -> tuple[pd.DataFrame, str, str]:
    """Data of :data:`INTERVAL`, the title of x, and the caption."""
    ranking = label(found.board.ranking)
    if what == "intervals":
        own = found.intervals.query("statistic == @found.board.ranking")
        order = own.set_index("method").reindex(_methods(found)).reset_index()
        return order.rename(columns={"value": "estimate"})[INTERVAL], f"{ranking} score", ""
    if what == "pairs":
        own = pairs.frame(found.pairs, _methods(found)).query("improvement >= 0.5")
        names = own["row"] + " > " + own["column"]
        own = own.assign(method=names).drop_duplicates(["improvement", "low", "high", "method"])
        return own.rename(columns={"improvement": "estimate"})[INTERVAL], "P(first > second)", ""
    if what == "area":
        text = f"{ranking} of the mean height of each run's curve, with 95 % intervals."
        own = found.area.rename(columns={"value": "estimate"})
        return own[INTERVAL], f"{ranking} of the mean height, 95 % interval", text
    assert threshold is not None
    text = (
        f"First step at which the {ranking} of a method's runs is at {threshold:g}; lines end "
        f"where its pointwise 95 % intervals are. A method that never is has no row."
    )
    own = found.steps_to(threshold).rename(columns={"steps": "estimate"})
    return own[INTERVAL], f"steps to {ranking} {threshold:g}", text


def _lines(data: pd.DataFrame, methods: Sequence[str], x: str, y: str, title: str) -> Any:
    """Lines with their bands."""
    color, dash = theme.lines(methods, data["method"])
    ticks = alt.Axis(tickCount=5, format="~s" if x == "step" else alt.Undefined)
    across = alt.X(f"{x}:Q", title=x if x == "step" else "score", axis=ticks)
    zero = alt.Scale(zero=x != "step")
    base = alt.Chart(width=320, height=220).encode(across, color)
    band = base.mark_area(opacity=0.14 * (len(methods) <= MOST_BANDS)).encode(
        alt.Y("low:Q"), alt.Y2("high:Q")
    )
    line = base.mark_line(strokeWidth=2).encode(
        alt.Y(f"{y}:Q", title=title, scale=zero, axis=theme.up(5)), dash
    )
    return alt.layer(band, line, data=data)


def _on(ax: Any, found: Compared, what: str, threshold: float | None) -> Any:
    """The same on matplotlib's axes, in their own style."""
    if what in ("profile", "efficiency"):
        data, x, y, title, _ = _curve(found, what)
        methods = _methods(found)
        for method in methods:
            own = data[data["method"] == method]
            grid = pd.Index(np.unique(data[x]))
            own = own.set_index(x).reindex(grid)  # a line breaks where it has no value
            [line] = ax.plot(own.index, own[y], label=method)
            if len(methods) <= MOST_BANDS:
                color = line.get_color()
                ax.fill_between(own.index, own["low"], own["high"], alpha=0.15, color=color)
        ax.set_xlabel(x if x == "step" else "score")
        ax.set_ylabel(title)
        ax.legend(frameon=False)
        return ax
    data, title, _ = _rows(found, what, threshold)
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
