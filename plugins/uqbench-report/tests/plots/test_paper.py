"""Figures as papers need them, on the committed boards: width, letters, colors, names, captions."""

import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner
from uqbench_report.cli.plot import command
from uqbench_report.plots import catalog, coverage, curves, intervals, pairs, theme, trust
from uqbench_report.plots.render import WIDTHS, render, svg

from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError
from uqbench.registry import Host

BOARDS = Path(__file__).parents[4] / "leaderboards"
NIGHT = StoredBoard.read(BOARDS / "minatar" / "night")
"""Seven methods, one of them twice, and three baselines on three games."""


def letters(text: str) -> list[float]:
    """Heights of the letters of a printed SVG, in points."""
    root = ET.fromstring(text)
    unit = float(root.attrib["width"].removesuffix("pt")) / float(root.attrib["viewBox"].split()[2])
    return [unit * float(size) for size in re.findall(r'font-size="([\d.]+)px"', text)]


PRINTED = [
    (trust.figure, "minatar/night"),
    (coverage.figure, "minatar/night"),
    (intervals.figure, "minatar/night"),
    (pairs.figure, "windy-cliff/paper"),
    (curves.figure, "deepsea/demo"),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("figure", "place"), PRINTED)
def test_a_printed_figure_is_as_wide_as_the_paper_with_letters_of_7_points(figure, place, width):
    drawn = figure(StoredBoard.read(BOARDS / place))
    text = svg(drawn, width=width)
    points = float(ET.fromstring(text).attrib["width"].removesuffix("pt"))
    assert points <= WIDTHS[width]
    assert min(letters(text)) >= 7
    if drawn.name not in ("coverage", "pairs"):  # whose squares do not grow
        assert points > WIDTHS[width] - 7


def test_names_that_do_not_fit_a_column_are_refused():
    drawn = pairs.figure(StoredBoard.read(BOARDS / "fashion" / "ood"))  # of twenty methods
    with pytest.raises(UqbenchError, match=r"pairs has too many panels .* or --width text"):
        svg(drawn, width="column")
    assert min(letters(svg(drawn, width="text"))) >= 7


def test_files_of_a_width_have_it_in_their_own_units(tmp_path):
    options = ["--what", "intervals", "--width", "column", "--format", "svg,pdf,png,txt"]
    done = CliRunner().invoke(command, [str(NIGHT.folder), *options, "--to", str(tmp_path)])
    assert done.exit_code == 0, done.output
    at = tmp_path / "minatar-night-intervals"
    root = ET.fromstring(at.with_suffix(".svg").read_text())
    width = float(root.attrib["width"].removesuffix("pt"))
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+)", at.with_suffix(".pdf").read_bytes())
    assert box is not None
    assert float(box[1]) == pytest.approx(width, abs=0.1)
    (pixels,) = struct.unpack(">I", at.with_suffix(".png").read_bytes()[16:20])
    assert pixels == pytest.approx(width / 72 * 300, abs=2)
    caption = at.with_suffix(".txt").read_text()
    assert caption.startswith("minatar · night: mean score (learning speed). Mean score")
    assert "0.342" not in caption  # numbers are in the figure


def test_a_method_has_one_color_in_all_figures_of_a_board():
    seen: dict[str, set[str]] = {}

    def read(part):
        if isinstance(part, dict):
            color = part.get("color")
            if isinstance(color, dict) and color.get("field") == "method":
                scale = color["scale"]
                for name, shade in zip(scale["domain"], scale["range"], strict=True):
                    seen.setdefault(name, set()).add(shade)
            part = list(part.values())
        if isinstance(part, list):
            for inner in part:
                read(inner)

    figures, _ = catalog.drawable(NIGHT)
    for figure in figures:
        with theme.alt.data_transformers.disable_max_rows():
            read(figure.chart.to_dict(validate=False))
    expected = [*theme.PALETTE, *[theme.FAINT] * 20]  # eight colors by the board's order, then gray
    assert seen == {name: {expected[i]} for i, name in enumerate(NIGHT.methods)}


def test_shares_are_between_0_and_1():
    figures = {figure.name: figure.data for figure in catalog.drawable(NIGHT)[0]}
    shares = {name: ["y", "low", "high"] for name in ("reliability", "pit", "training")}
    shares |= {"trust": ["y", "y_low", "y_high"], "coverage": ["share", "low", "high"]}
    shares["pairs"] = ["improvement", "low", "high"]
    for name, columns in shares.items():
        known = figures[name][columns].stack().dropna()
        assert len(known) > 10
        assert known.between(0, 1).all(), name
    for name in ("reliability", "pit"):
        found = figures[name].dropna()
        assert len(found) > 100
        assert found["y"].between(found["low"] - 1e-9, found["high"] + 1e-9).all(), name


def test_names_are_those_that_a_person_would_write(monkeypatch):
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin")
    methods = set(NIGHT.methods)
    texts: set[str] = set()
    figures, _ = catalog.drawable(NIGHT)
    added, _ = catalog.further(NIGHT, None, Host.load())
    for figure in figures + added:
        texts |= {of.text or "" for of in ET.fromstring(svg(figure)).iter() if "text" in of.tag}
    assert not [text for text in texts - methods if "_" in text]
    assert {"Space Invaders", "mean score (learning speed)"} <= texts


def test_every_point_says_its_numbers_when_it_is_pointed_at():
    titles = re.findall(r"<title>([^<]*)</title>", svg(intervals.figure(NIGHT)))
    assert len(titles) == len(NIGHT.methods)
    row = NIGHT.leaderboard.iloc[0]
    assert f"{row['method']} {row['mean']:.3f} [" in titles[0]


def test_a_caption_says_what_is_seen_and_no_numbers_of_methods():
    for figure in catalog.drawable(NIGHT)[0]:
        caption = render(figure, "txt").decode()
        assert caption.startswith(figure.title.removesuffix("."))
        assert caption.count("\n") == 1
        assert not figure.numbers or figure.numbers not in caption


def test_bands_of_few_seeds_do_not_stretch_the_panels_of_learning_curves():
    figure = curves.figure(StoredBoard.read(BOARDS / "minatar" / "quick"))
    drawn = figure.chart.data
    for _, panel in drawn.groupby("task"):
        bottom, top = panel["value"].min(), panel["value"].max()
        assert panel["low"].min() >= bottom
        assert panel["high"].max() <= top + 0.25 * (top - bottom) + 1e-9
    assert figure.data["low"].min() < drawn["low"].min()  # the numbers are whole
