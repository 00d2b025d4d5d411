"""Places of names: beside their points, or at the right where there is no room for them."""

from collections.abc import Iterator, Mapping, Sequence
from math import cos, hypot, pi, sin
from textwrap import wrap

import altair as alt
import pandas as pd

from uqbench_report.plots import theme

LETTERS = dict.fromkeys("ijl", 2.5) | dict.fromkeys("ft.r-", 3.7) | {"m": 9.2, "w": 8.0}
"""Widths of letters of 11 pixels; others are of 6.2 at most."""
TALL, LONGEST = 12.0, 12
"""Height of a line, and letters of one at the right."""
RADII = (9, 12, 16, 22, 30, 40)
NEAR = 14
"""Pixels from a point to its name within which no line leads there; as bad as a bar across it."""
Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


def named(points: pd.DataFrame, size: Point, bars: Sequence[Box]) -> tuple[alt.Chart, alt.Chart]:
    """Layers of the names of points, and of thin lines from points to names that are far.

    Args:
        points: ``method``, ``x`` and ``y`` in pixels of the panel, ``y`` from the top.
        size: width and height of the panel.
        bars: lines in it, which names rather do not cross.
    """
    placed = alt.Chart(label_positions(points, size, bars))
    at = {name: alt.X(f"{name}:Q", scale=None) for name in ("x", "label_x")}
    up = {name: alt.Y(f"{name}:Q", scale=None) for name in ("y", "label_y")}
    rules = placed.mark_rule(color=theme.FAINT, strokeWidth=0.7)
    lines = rules.encode(at["x"], up["y"], alt.X2("line_x:Q"), alt.Y2("line_y:Q"))
    names = placed.mark_text(align="left", baseline="middle", fontSize=11, lineBreak="\n")
    return lines, names.encode(at["label_x"], up["label_y"], alt.Text("text:N"))


def label_positions(points: pd.DataFrame, size: Point, bars: Sequence[Box] = ()) -> pd.DataFrame:
    """``method``; ``x``, ``y``, ``label_x``, ``label_y``, ``line_x``, ``line_y``, pixels; ``text``.

    A name's left end at half the height of its first line, and the end of the line from its point,
    which is the point itself where the name is near.

    Names are placed one by one, where a name covers no point and no other name and is nearer to its
    own point than to any other: across as few bars as can be, and as near as can be. Those without
    such a place stand in a column at the right, from the top down as their points do.

    Args:
        points: see :func:`named`.
        size: width and height of the panel.
        bars: see :func:`named`.
    """
    at = {name: (x, y) for name, x, y in points.itertuples(index=False)}
    placed: dict[str, Box] = {}
    for name, point in at.items():
        options = [box for box in _boxes(name, point, size) if _free(name, box, at, placed)]
        costs = [_distance(b, point) + NEAR * sum(_overlap(b, o) for o in bars) for b in options]
        if options:
            placed[name] = options[costs.index(min(costs))]
    placed |= _column({name: point for name, point in at.items() if name not in placed}, size)
    rows = []
    for name, (x, y) in at.items():
        left, top, right, _ = placed[name]
        end = (min(max(x, left), right), top + TALL / 2)
        near = _distance(placed[name], (x, y)) < NEAR
        text = "\n".join(_lines(name)) if left > size[0] else name
        rows.append((name, x, y, left, top + TALL / 2, *((x, y) if near else end), text))
    names = ["method", "x", "y", "label_x", "label_y", "line_x", "line_y", "text"]
    return pd.DataFrame(rows, columns=names)


def _boxes(name: str, point: Point, size: Point) -> Iterator[Box]:
    """Places for a name around its point, inside the panel, the nearest first."""
    width = _width(name)
    for radius in RADII:
        for step in range(16):
            across, up = cos(step * pi / 8), sin(step * pi / 8)
            before = 0 if across > 0.1 else width if across < -0.1 else width / 2
            left = min(max(point[0] + radius * across - before, 0.0), size[0] - width)
            top = min(max(point[1] - radius * up - TALL / 2, 0.0), size[1] - TALL)
            yield left, top, left + width, top + TALL


def _free(name: str, box: Box, at: Mapping[str, Point], placed: Mapping[str, Box]) -> bool:
    own = _distance(box, at[name])
    others = [_distance(box, point) for other, point in at.items() if other != name]
    clear = own >= 5 and all(distance >= 6 and distance > own for distance in others)
    return clear and not any(_overlap(box, other) for other in placed.values())


def _column(at: Mapping[str, Point], size: Point) -> dict[str, Box]:
    """Names one below the other, in the middle of the heights of their points."""
    order = sorted(at, key=lambda name: (at[name][1], -at[name][0]))
    heights = [TALL * len(_lines(name)) + 1 for name in order]
    tall, left = sum(heights), size[0] + 16.0
    middle = sum(y for _, y in at.values()) / max(len(at), 1)
    top = max(min(middle, size[1] - tall / 2) - tall / 2, 0.0)
    tops = [top + sum(heights[:k]) for k in range(len(order))]
    return {
        name: (left, at, left + max(map(_width, _lines(name))), at + high - 1)
        for name, at, high in zip(order, tops, heights, strict=True)
    }


def _lines(name: str) -> list[str]:
    """A name as it stands at the right, broken at its words."""
    return wrap(name, LONGEST, break_long_words=False, break_on_hyphens=False)


def _width(name: str) -> float:
    return sum(LETTERS.get(letter, 8.0 if letter.isupper() else 6.2) for letter in name)


def _distance(box: Box, point: Point) -> float:
    """From a box to a point; 0 inside."""
    across = max(box[0] - point[0], 0.0, point[0] - box[2])
    return hypot(across, max(box[1] - point[1], 0.0, point[1] - box[3]))


def _overlap(first: Box, second: Box) -> bool:
    across = first[2] + 2 >= second[0] and second[2] + 2 >= first[0]
    return across and first[3] >= second[1] and second[3] >= first[1]
