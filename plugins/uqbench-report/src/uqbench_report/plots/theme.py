"""Style of figures: one ink, thin lines, colors of Okabe & Ito (2008) that shapes or labels double.

The colors are told apart with every common color vision (Okabe & Ito, Color Universal Design).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from uqbench_report.plots.words import natural, titled

INK = "#1b1f24"
MUTED = "#5b6470"
FAINT = "#b4bbc4"
GRID = "#e7eaee"
WHITE = "#ffffff"

BLUE = "#0072b2"
ORANGE = "#e69f00"
GREEN = "#009e73"
VERMILION = "#d55e00"
PURPLE = "#cc79a7"
SKY = "#56b4e9"
BROWN = "#8c6d31"
"""Instead of Okabe & Ito's yellow, which cannot be seen on white."""

PALETTE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BROWN, INK)
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))

ON_LIGHT, ON_DARK = "#1b1f25", "#fffffe"
"""Ink of text on a colored square, which is the same on a dark ground."""
ON_DARK_GROUND = {
    INK: "#e8eaed", MUTED: "#a7b0ba", FAINT: "#6d7682", GRID: "#2c3138", WHITE: "#14171a",
    BLUE: "#58aee8", GREEN: "#3cc79c", VERMILION: "#f3894f", BROWN: "#c2a163",
}  # fmt: skip
"""The colors that are others on a dark ground."""

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""A font of the same widths on every machine: the first ships with the renderer."""

SIGNS = {"holds": "●", "does not hold": "✕", "open": "◐", "not run": "○"}
"""A sign of each verdict."""

_LETTERS: dict[str, Any] = {"titleFontSize": 11, "titleFontWeight": "normal"}
_GUIDE = {**_LETTERS, "labelColor": INK, "titleColor": MUTED}
_SYMBOLS = {"symbolStrokeWidth": 2, "symbolOpacity": 1, "orient": "bottom", "columns": 3}
_LINES = {"domain": False, "ticks": False, "grid": True, "gridColor": GRID, "titlePadding": 8}
_LABELS = {"labelColor": MUTED, "labelFontSize": 11, "labelPadding": 6, "labelFlush": False}
_TITLE = {"color": INK, "fontSize": 13, "fontWeight": "normal", "anchor": "start", "offset": 10}
CONFIG: dict[str, Any] = {
    "background": WHITE,
    "font": FONT,
    "aria": False,  # a figure has one text alternative, not one for each point
    "view": {"stroke": None},
    "axis": _GUIDE | _LINES | _LABELS,
    "axisY": {"grid": False, "labelColor": INK, "labelFontSize": 12, "labelLimit": 240},
    "header": {**_GUIDE, "labelFontSize": 12, "labelFontWeight": "normal", "labelLimit": 400},
    "legend": {**_GUIDE, **_SYMBOLS, "labelFontSize": 11, "labelLimit": 240},
    "title": {**_TITLE, "subtitleColor": MUTED, "subtitleFontSize": 11},
    "text": {"color": INK, "fontSize": 11},
}


def up(ticks: int, form: str | alt.UndefinedType = alt.Undefined) -> alt.Axis:
    """The axis of a quantity that goes up; without it, a y axis is one of names."""
    return alt.Axis(tickCount=ticks, grid=True, labelColor=MUTED, labelFontSize=11, format=form)


def with_bands(
    base: alt.Chart,
    y: alt.Y,
    board: Sequence[str],
    drawn: Iterable[str],
    opacity: float = 0.14,
    **mark: Any,
) -> tuple[alt.Chart, alt.Chart]:
    """Layers of the bands from ``low`` to ``high`` and of the lines of methods, with one legend.

    Colors and dashes are those of a method's place on its board: the same in all of its figures,
    whichever other methods a figure has.

    Args:
        base: the chart with its x.
        y: of the lines.
        board: its methods.
        drawn: those that the figure has.
        opacity: of the bands.
        mark: of the lines, beside their width.
    """
    order = [name for name in board if name in set(drawn)]
    dashes = [list(DASHES[list(board).index(name) % len(DASHES)]) for name in order]
    legend = alt.Legend(title=None, symbolSize=240, symbolType="stroke")
    shared: dict[str, Any] = {"sort": order, "legend": legend}
    color = alt.Color("method:N", scale=colors(order, board), **shared)
    dash = alt.StrokeDash("method:N", scale=alt.Scale(domain=order, range=dashes), **shared)
    bands = base.mark_area(opacity=opacity).encode(alt.Y("low:Q"), alt.Y2("high:Q"), color)
    return bands, base.mark_line(strokeWidth=2, **mark).encode(y, color, dash)


def by_task(chart: Any, tasks: Iterable[str], own: Iterable[str] = ()) -> alt.FacetChart:
    """A panel a task, in two columns where there are several.

    Args:
        chart: of one task.
        tasks: of all rows of its data.
        own: the axes, x or y, that each panel has for itself.
    """
    order = [titled(task) for task in sorted(set(tasks), key=natural)]
    chart.data = chart.data.assign(task=chart.data["task"].map(titled))
    facet = alt.Facet("task:N", title=None, sort=order)
    faceted: alt.FacetChart = chart.facet(facet=facet, columns=min(len(order), 2))
    if len(order) > 2 and len(order) % 2:  # below the empty place there is no axis
        faceted = faceted.resolve_axis(x="independent")
    scales: Any = dict.fromkeys(own, "independent")
    return faceted.resolve_scale(**scales) if scales else faceted


def colors(names: Sequence[str], board: Sequence[str] = ()) -> alt.Scale:
    """A color for each of the first eight names; the others are gray.

    Args:
        names: to color.
        board: the methods in whose order they have their colors; empty for the names' own.
    """
    places = [list(board or names).index(name) for name in names]
    shown = [PALETTE[place] if place < len(PALETTE) else FAINT for place in places]
    return alt.Scale(domain=list(names), range=shown)
