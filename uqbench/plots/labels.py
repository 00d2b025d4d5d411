"""Where names stand: beside their points, or in a column at the right where points are crowded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import cos, hypot, pi, sin

import altair as alt
import pandas as pd

from uqbench.plots import theme

LETTER = 6.2
"""Mean width of a letter of 11 pixels."""
TALL = 12.0
RADII = (9, 14, 20, 28, 38)
Ends = Sequence[float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


def named(
    points: pd.DataFrame, up: str, ends: tuple[Ends, Ends], size: tuple[float, float]
) -> tuple[alt.Chart, alt.Chart]:
    """Layers of the names of points, and of thin lines from points to names.

    Args:
        points: ``method``, ``x``, and a column that goes up.
        up: the name of that column.
        ends: of the x and of the y axis.
        size: width and height of the panel in pixels.
    """
    placed = alt.Chart(label_positions(points[["method", "x", up]], ends, size))
    lines = placed.mark_rule(color=theme.FAINT, strokeWidth=0.7).encode(
        x="x:Q", y=f"{up}:Q", x2="line_x:Q", y2="label_y:Q"
    )
    names = placed.mark_text(align="left", baseline="middle", fontSize=11).encode(
        x="label_x:Q", y="label_y:Q", text="method:N"
    )
    return lines, names


def label_positions(
    points: pd.DataFrame, ends: tuple[Ends, Ends], size: tuple[float, float]
) -> pd.DataFrame:
    """``points`` with ``label_x`` and ``label_y``, each name's left end at half its height.

    ``line_x`` is the end of the name that is nearer to its point.

    Names are placed one by one, the most crowded points first, at the nearest place in which a name
    covers no point and no other name and is nearer to its own point than to any other. If one has
    no such place, all stand in a column at the right, from the top down as their points do.

    Args:
        points: names, x and y.
        ends: of the x and of the y axis.
        size: width and height of the panel in pixels.
    """
    (wide, high), ((left, right), (bottom, top)) = size, ends
    at = {
        name: ((x - left) / (right - left) * wide, (top - y) / (top - bottom) * high)
        for name, x, y in points.itertuples(index=False)
    }
    placed: dict[str, Box] = {}
    for name in sorted(at, key=lambda name: _crowding(name, at)):
        options = _boxes(name, at[name], size)
        box = next((box for box in options if _free(name, box, at, placed)), None)
        if box is None:
            placed = _column(at, size)
            break
        placed[name] = box
    boxes = [placed[name] for name in at]
    near = [
        box[0] if box[0] >= at[name][0] else box[2] for name, box in zip(at, boxes, strict=True)
    ]
    unit = (right - left) / wide
    return points.assign(
        label_x=[left + box[0] * unit for box in boxes],
        line_x=[left + x * unit for x in near],
        label_y=[top - (box[1] + TALL / 2) / high * (top - bottom) for box in boxes],
    )


def _boxes(name: str, point: tuple[float, float], size: tuple[float, float]) -> Iterator[Box]:
    """Places for a name around its point, inside the panel, the nearest first."""
    width = LETTER * len(name)
    for radius in RADII:
        for step in range(16):
            angle = step * pi / 8
            x, y = point[0] + radius * cos(angle), point[1] - radius * sin(angle)
            start = x if cos(angle) > 0.1 else x - width if cos(angle) < -0.1 else x - width / 2
            start = min(max(start, 0.0), size[0] - width)
            middle = min(max(y, TALL / 2), size[1] - TALL / 2)
            yield start, middle - TALL / 2, start + width, middle + TALL / 2


def _free(name: str, box: Box, at: dict[str, tuple[float, float]], placed: dict[str, Box]) -> bool:
    own = _distance(box, at[name])
    others = [_distance(box, point) for other, point in at.items() if other != name]
    clear = own >= 5 and all(distance >= 6 and distance > own for distance in others)
    return clear and not any(_overlap(box, other) for other in placed.values())


def _column(at: dict[str, tuple[float, float]], size: tuple[float, float]) -> dict[str, Box]:
    """Names one below the other, as near to the height of their points as they can."""
    order = sorted(at, key=lambda name: (at[name][1], -at[name][0]))
    heights: list[float] = []
    for name in order:
        heights.append(max(at[name][1], heights[-1] + TALL + 1 if heights else 0.0))
    last = size[1] - TALL / 2
    for i in reversed(range(len(heights))):  # up again, where the column is longer than the panel
        heights[i] = min(heights[i], last)
        last = heights[i] - TALL - 1
    start = size[0] + 16.0
    return {
        name: (start, y - TALL / 2, start + LETTER * len(name), y + TALL / 2)
        for name, y in zip(order, heights, strict=True)
    }


def _crowding(name: str, at: dict[str, tuple[float, float]]) -> float:
    x, y = at[name]
    return min((hypot(x - a, y - b) for other, (a, b) in at.items() if other != name), default=0.0)


def _distance(box: Box, point: tuple[float, float]) -> float:
    """From a box to a point; 0 inside."""
    across = max(box[0] - point[0], 0.0, point[0] - box[2])
    return hypot(across, max(box[1] - point[1], 0.0, point[1] - box[3]))


def _overlap(first: Box, second: Box) -> bool:
    across = first[2] + 2 >= second[0] and second[2] + 2 >= first[0]
    return across and first[3] >= second[1] and second[3] >= first[1]
