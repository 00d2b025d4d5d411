"""Figures as files: SVG, PDF and CSV, the same bytes for the same figure.

Vega-Lite is rendered by vl-convert, in this process and without a network. What is rendered may
come from a plugin: an image or a link in it is refused, so that showing it requests nothing.
"""

from __future__ import annotations

import re
import warnings
from html import escape
from typing import Any

import altair as alt
import vl_convert

from uqbench.errors import UqbenchError
from uqbench.figure import Figure
from uqbench.plots import theme

FORMATS = ("svg", "pdf", "png", "csv")

PNG_SCALE = 3
"""Pixels of a PNG for each of a figure: 288 an inch."""

DARK = {
    theme.INK: "#e8eaed",
    theme.MUTED: "#a7b0ba",
    theme.FAINT: "#5f6873",
    theme.GRID: "#2c3138",
    theme.WHITE: "#14171a",
    theme.BLUE: "#3f93dd",
    theme.SKY: "#a6e1ff",
    theme.VERMILION: "#f08a4b",
    theme.GREEN: "#3cc79c",
    theme.BROWN: "#c9a866",
}
"""What stands for a color on a dark ground; the others are light enough."""

_SCHEMA = alt.SCHEMA_VERSION.removeprefix("v").rsplit(".", 1)[0]
_EXTERNAL = re.compile(r"<image\b|<a\b|<script\b|<foreignObject\b|url\((?!#)|href=\"(?!#)", re.I)
_RESOURCES = re.compile(rb"(?:^ +/[a-z]{2}\d+ \d+ 0 R\n)+", re.M)
"""Entries of a resource dictionary of a PDF, which the renderer writes in any order."""
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r'(?<![\w#.])(?<!opacity=")-?\d+\.\d{2,}')


def render(figure: Figure, form: str) -> bytes:
    """A figure's file.

    Args:
        figure: to draw.
        form: one of :data:`FORMATS`.

    Raises:
        UqbenchError: the figure refers to something outside of itself.
    """
    if form == "csv":
        text: str = figure.data.to_csv(index=False, lineterminator="\n")
        return text.encode()
    if form == "svg":
        return svg(figure).encode()
    if form == "png":
        png: bytes = vl_convert.svg_to_png(svg(figure), scale=PNG_SCALE)
        return png
    if form == "pdf":
        pdf: bytes = vl_convert.svg_to_pdf(svg(figure))
        return _RESOURCES.sub(_in_order, pdf)
    raise UqbenchError(f"There is no format {form!r}; expected {', '.join(FORMATS)}.")


def svg(figure: Figure, *, adaptive: bool = False, prefix: str = "") -> str:
    """A figure as SVG, with its title and text alternative.

    Args:
        figure: to draw.
        adaptive: with a style that follows the reader's preference for light or dark.
        prefix: of the ids in it, which are unique where several figures share a page.
    """
    with warnings.catch_warnings(), alt.data_transformers.disable_max_rows():
        warnings.simplefilter("ignore")  # Altair's, of names that pandas may reserve some day
        chart: dict[str, Any] = figure.chart.to_dict(validate=False)
    chart["config"] = {**chart.get("config", {}), **theme.CONFIG}
    known: list[str] = vl_convert.get_vegalite_versions()
    version = _SCHEMA if _SCHEMA in known else known[-1]
    text = vl_convert.vegalite_to_svg(chart, vl_version=version, allowed_base_urls=[])
    if _EXTERNAL.search(text):
        raise UqbenchError(
            f"the figure {figure.name!r} has an image or a link, which is not drawn: a figure "
            f"refers to nothing outside of itself."
        )
    return _with_text(
        _small(text, prefix + figure.name), figure, dark_style("svg ") if adaptive else ""
    )


def dark_style(inside: str) -> str:
    """CSS that gives figures ``inside`` a selector their colors on a dark ground."""
    rules = [
        f'{inside}[{kind}="{light}"]{{{kind}:{dark}}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    ]
    return "@media (prefers-color-scheme:dark){" + "".join(rules) + "}"


def _in_order(entries: re.Match[bytes]) -> bytes:
    return b"".join(sorted(entries[0].splitlines(keepends=True)))


def _small(text: str, name: str) -> str:
    """Without what no reader sees; ids are those of the figure, as several share a page."""
    text = re.sub(r' (aria-[a-z]+|role|class|pointer-events|stroke-miterlimit)="[^"]*"', "", text)
    text = re.sub(r' (font-family="[^"]*"|font-weight="normal"|stroke-width="1")', "", text)
    text = re.sub(r'<path d="" ?(display="none")?/>|<path[^>]* display="none"/>', "", text)
    text = re.sub(r'<path d="M0,0h[\d.]+v[\d.]+h-?[\d.]+Z"/>', "", text)  # grounds without a fill
    before, text = None, text.replace(' transform="translate(0,0)"', "")
    while before != text:
        before, text = text, text.replace("<g></g>", "")
    text = text.replace('fill="white"', f'fill="{theme.WHITE}"')
    text = text.replace(' opacity="1"', "").replace(' fill="transparent"', ' fill="none"')
    text = _TAG.sub(lambda tag: _NUMBER.sub(_short, tag[0]), text)
    ids = dict.fromkeys(re.findall(r'\bid="([^"]+)"', text))
    for number, old in enumerate(ids):
        new = f"{name}-{number}"
        text = text.replace(f'id="{old}"', f'id="{new}"').replace(f"url(#{old})", f"url(#{new})")
    return text


def _short(found: re.Match[str]) -> str:
    """A coordinate to a tenth of a pixel."""
    return f"{float(found[0]):.1f}".removesuffix(".0")


def _with_text(text: str, figure: Figure, style: str) -> str:
    """The root with its font, and the title and description that screen readers say."""
    root, rest = text.split(">", 1)
    root = root.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace(
        ' version="1.1"', ""
    )
    described = (
        f'{root} role="img" aria-label="{escape(figure.title)}. {escape(figure.text)}" '
        f'font-family="{escape(theme.FONT)}">'
    )
    return described + (f"<style>{style}</style>" if style else "") + rest + "\n"
