"""How figures look: one ink, thin lines, colors of Okabe & Ito (2008) that shapes or labels double.

The colors are told apart with every common color vision (Okabe & Ito, Color Universal Design). Each
has a name here, so that a page can show them on a dark ground (``uqbench.plots.render.DARK``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

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
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Of the same widths on every machine: the first ships with the renderer."""

VERDICTS: Mapping[str, tuple[str, str]] = {
    "holds": (GREEN, "●"),
    "does not hold": (VERMILION, "✕"),
    "undecided": (ORANGE, "◐"),
    "not run": (FAINT, "○"),
}
"""Color and sign of each verdict."""

CONFIG: dict[str, Any] = {
    "background": WHITE,
    "font": FONT,
    "aria": False,  # a figure has one text alternative, not one for each point
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "grid": True,
        "gridColor": GRID,
        "labelColor": MUTED,
        "labelFontSize": 11,
        "labelPadding": 6,
        "labelFlush": False,
        "titleColor": MUTED,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "axisY": {"grid": False, "labelColor": INK, "labelFontSize": 12, "labelLimit": 240},
    "header": {
        "labelColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": "normal",
        "titleColor": MUTED,
        "titleFontSize": 11,
        "labelLimit": 400,
    },
    "legend": {
        "labelColor": INK,
        "labelFontSize": 11,
        "titleColor": MUTED,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
        "labelLimit": 240,
    },
    "title": {
        "color": INK,
        "fontSize": 13,
        "fontWeight": "normal",
        "subtitleColor": MUTED,
        "subtitleFontSize": 11,
        "anchor": "start",
        "offset": 10,
    },
    "text": {"color": INK, "fontSize": 11},
}


def up(ticks: int, form: str | alt.UndefinedType = alt.Undefined) -> alt.Axis:
    """The axis of a quantity that goes up; without it, a y axis is one of names."""
    return alt.Axis(tickCount=ticks, grid=True, labelColor=MUTED, labelFontSize=11, format=form)


def lines() -> alt.Legend:
    """A legend of lines, as they are drawn."""
    return alt.Legend(title=None, symbolSize=240, symbolType="stroke")


def colors(names: Sequence[str]) -> alt.Scale:
    """A color a name, in their order; after eight they begin anew, with other dashes and shapes."""
    return alt.Scale(domain=list(names), range=[PALETTE[i % 8] for i in range(len(names))])


def dashes(names: Sequence[str]) -> alt.Scale:
    """A dash a name: that of a name's color differs from that of the last name with this color."""
    of = [list(DASHES[(i + i // 8) % len(DASHES)]) for i in range(len(names))]
    return alt.Scale(domain=list(names), range=of)


def shapes(names: Sequence[str]) -> alt.Scale:
    """A shape a name."""
    return alt.Scale(domain=list(names), range=[SHAPES[i % 7] for i in range(len(names))])
