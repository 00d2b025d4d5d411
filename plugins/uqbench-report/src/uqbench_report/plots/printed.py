"""The width of a figure in print: its panels are laid out anew, and its letters keep their size."""

import re
from collections.abc import Callable
from typing import Any

from uqbench.contract.errors import UqbenchError

Spec = dict[str, Any]
WIDTHS = {"column": 234.0, "text": 397.0}
"""In points: a column of ICML's style, and the text of NeurIPS'."""
POINT = 0.637
"""Points of a pixel: the smallest letters of figures, of 11 pixels, are of 7 points."""
ROW = 17
"""Fewest pixels of a row or column with a name."""
LEGEND = 180
"""Pixels of an entry of a legend."""
TRIES, SLACK = 7, 8
"""Layouts that are tried, and pixels that may be left."""
SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')


def fitted(
    name: str, specify: Callable[[float], Spec], draw: Callable[[Spec], str], width: str
) -> str:
    """The SVG of a figure that is as wide as a column or the text of a paper, or less.

    Panels are narrower or wider than on a screen.

    Args:
        name: the figure's.
        specify: the figure's Vega-Lite specification, its panels so many times as wide.
        draw: a specification's SVG.
        width: one of :data:`WIDTHS`.

    Raises:
        UqbenchError: it has too much in a row for letters of 7 points.
    """
    room, best = WIDTHS[width] / POINT, ""
    before, wide = (0.0, 0.0), 1.0
    for _ in range(TRIES):
        spec = specify(wide)
        spec["config"]["legend"]["columns"] = int(room // LEGEND)
        text = draw(spec)
        pixels = float(SIZE.findall(text)[0][0])
        best = text if pixels <= room else best
        if room - SLACK <= pixels <= room or before[0] == wide or before[1] == pixels:
            break
        rise = (pixels - before[1]) / (wide - before[0])
        before = wide, pixels
        wide = max(wide + (room - SLACK / 2 - pixels) / rise, 0.3)
    if not best:
        raise UqbenchError(
            f"--width {width}: {name} has too many panels in a row for 7-point text; choose by "
            f"--methods or --tasks{', or --width text' if width == 'column' else ''}."
        )
    size = [f"{POINT * float(pixels):.2f}pt" for pixels in SIZE.findall(best)[0]]
    return SIZE.sub(' width="{}" height="{}"'.format(*size), best, count=1)


def stretch(spec: Any, wide: float) -> None:
    """Make the panels of a specification so many times as wide; rows of names grow no wider."""
    if isinstance(spec, list):
        for part in spec:
            stretch(part, wide)
        return
    for side, times in (("width", wide), ("height", min(max(wide, 0.75), 1))):
        size = spec.get(side)
        if isinstance(size, dict):
            spec[side] = {"step": max(size["step"] * min(wide, 1), ROW)}
        elif size is not None:
            spec[side] = size * times
    for inner in ("spec", "layer", "hconcat", "vconcat"):
        stretch(spec.get(inner, []), wide)
