"""Figures as files: SVG, PDF and CSV, the same bytes for the same figure.

Vega-Lite is rendered by vl-convert, without a network. A figure for print is laid out anew, so that
its letters keep their size. What is rendered may come from a plugin: an image or a link in it is
refused, so that showing it requests nothing.
"""

import re
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from html import escape
from typing import Any

import altair as alt

from uqbench.contract.errors import UqbenchError
from uqbench.contract.figure import Figure
from uqbench_report.plots import theme
from uqbench_report.plots.drawing import converted

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
FORMATS = ("svg", "pdf", "png", "csv", "txt")

PNG_SCALE, PNG_INCH = 3, 300
"""Pixels of a PNG for each of a figure, usually; of an inch of one to be printed."""

_COLORS = [(of, *pair) for pair in theme.ON_DARK_GROUND.items() for of in ("fill", "stroke")]
_SWAPPED = "".join(f'[{of}="{light}"]{{{of}:{dark}}}' for of, light, dark in _COLORS)
DARK = f"@media screen and (prefers-color-scheme:dark){{{_SWAPPED}}}"
"""CSS of figures on a dark ground."""

_EXTERNAL = re.compile(r"<image\b|<a\b|<script\b|<foreignObject\b|url\((?!#)|href=\"(?!#)", re.I)
_RESOURCES = re.compile(rb"(?:^ +/[a-z]{2}\d+ \d+ 0 R\n)+", re.M)
"""Entries of a resource dictionary of a PDF, which the renderer writes in any order."""
_SAID = re.compile(r'<(\w+) aria-label="([^"]*)"([^>]*)/>')
"""A mark that says something when it is pointed at."""
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r'(?<![\d#.])(?<!opacity=")-?\d+\.\d{2,}')


def render(figure: Figure, form: str, width: str | None = None, scale: float = PNG_SCALE) -> bytes:
    """A figure's file; ``txt`` is its caption.

    Args:
        figure: to draw.
        form: one of :data:`FORMATS`.
        width: that it is printed in, one of :data:`WIDTHS`; None for a page.
        scale: pixels of a PNG for each of a figure that is not to be printed.

    Raises:
        UqbenchError: the figure refers to something outside of itself, or is too wide to print.
    """
    if form == "csv":
        return str(figure.data.to_csv(index=False, lineterminator="\n")).encode()
    if form == "txt":
        return f"{figure.title.removesuffix('.')}. {figure.text}\n".encode()
    drawn = svg(figure, width=width or 1.0)
    if form == "svg":
        return drawn.encode()
    points = re.sub(r'(?<=\d)pt"', '"', drawn, count=2)  # a unit of an SVG is a point of a PDF
    if form == "png":
        inch = {"scale": scale} if width is None else {"ppi": PNG_INCH}
        return bytes(converted("svg_to_png", points, **inch))
    if form == "pdf":
        return _RESOURCES.sub(_in_order, converted("svg_to_pdf", points))
    raise UqbenchError(f"There is no format {form!r}; expected {', '.join(FORMATS)}.")


def svg(
    figure: Figure, *, adaptive: bool = False, prefix: str = "", width: str | float = 1.0
) -> str:
    """A figure as SVG, with its text alternative.

    Args:
        figure: to draw.
        adaptive: with a style that follows the reader's preference for light or dark.
        prefix: of the ids in it, which are unique where several figures share a page. Such a page
            has their titles as text, and they none.
        width: that it is printed in, or how many times as wide as usual its panels are.
    """
    spec = partial(_specification, figure, titled=not prefix)
    text = fitted(figure.name, spec, width) if isinstance(width, str) else _draw(spec(width))
    if _EXTERNAL.search(text):
        why = "which is not drawn: a figure refers to nothing outside of itself."
        raise UqbenchError(f"the figure {figure.name!r} has an image or a link, {why}")
    return _with_text(_small(text, prefix + figure.name), figure, DARK if adaptive else "")


def fitted(name: str, specify: Callable[[float], Spec], width: str) -> str:
    """The SVG of a figure that is as wide as a column or the text of a paper, or less.

    Panels are narrower or wider than on a screen.

    Args:
        name: the figure's.
        specify: the figure's Vega-Lite specification, its panels so many times as wide.
        width: one of :data:`WIDTHS`.

    Raises:
        UqbenchError: it has too much in a row for letters of 7 points.
    """
    room, best = WIDTHS[width] / POINT, ""
    before, wide = (0.0, 0.0), 1.0
    for _ in range(TRIES):
        spec = specify(wide)
        spec["config"]["legend"]["columns"] = int(room // LEGEND)
        text = _draw(spec)
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


def stretch(spec: Spec, wide: float) -> None:
    """Make the panels of a specification so many times as wide; rows of names grow no wider."""
    for side, times in (("width", wide), ("height", min(max(wide, 0.75), 1))):
        size = spec.get(side)
        if isinstance(size, dict):
            spec[side] = {"step": max(size["step"] * min(wide, 1), ROW)}
        elif size is not None:
            spec[side] = size * times
    several = [part for name in ("layer", "hconcat", "vconcat") for part in spec.get(name, [])]
    for part in [*several, *([spec["spec"]] if "spec" in spec else [])]:
        stretch(part, wide)


def _draw(spec: Spec) -> str:
    """Its SVG, by the font that the renderer brings along: the same on every machine."""
    return str(converted("vegalite_to_svg", spec, allowed_base_urls=[]))


def _specification(figure: Figure, wide: float, *, titled: bool) -> Spec:
    """In Vega-Lite, with panels so many times as wide."""
    chart = figure.chart if figure.stretched is None else figure.stretched(wide)
    with warnings.catch_warnings(), alt.data_transformers.disable_max_rows():
        warnings.simplefilter("ignore")  # Altair's, of names that pandas may reserve some day
        spec: Spec = chart.to_dict(validate=False)
    if not titled:
        spec.pop("title", None)
    spec["config"] = {**spec.get("config", {}), **deepcopy(theme.CONFIG)}
    if figure.stretched is None and wide != 1:
        stretch(spec, wide)
    return spec


def _in_order(entries: re.Match[bytes]) -> bytes:
    return b"".join(sorted(entries[0].splitlines(keepends=True)))


def _small(text: str, name: str) -> str:
    """Shorter numbers and no roles of marks; ids are those of the figure: several share a page."""
    text = _SAID.sub(r"<\1\3><title>\2</title></\1>", text)
    text = re.sub(r' (aria-[a-z]+|role|class|pointer-events|stroke-miterlimit)="[^"]*"', "", text)
    text = _TAG.sub(lambda tag: _NUMBER.sub(_short, tag[0]), text)
    ids = dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))
    for number, old in enumerate(ids):
        new = f"{name}-{number}"
        text = text.replace(f'id="{old}"', f'id="{new}"').replace(f"url(#{old})", f"url(#{new})")
    return text


def _short(number: re.Match[str]) -> str:
    """A coordinate to a tenth of a pixel."""
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _with_text(text: str, figure: Figure, style: str) -> str:
    """The root with its font, and the title and description that screen readers say."""
    root, rest = text.split(">", 1)
    root = re.sub(r' xmlns:xlink="[^"]*"| version="1.1"', "", root)
    said = escape(f"{figure.title}. {figure.text} {figure.numbers}".strip())
    letters = f'font-family="{escape(theme.FONT)}" font-size="11px"'
    described = f'{root} role="img" aria-label="{said}" {letters}>'
    return described + (f"<style>{style}</style>" if style else "") + rest + "\n"
