"""Files of figures: the same bytes, no markup from names, nothing from elsewhere, a process."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

import altair as alt
import pandas as pd
import pytest
from uqbench_report.plots import claims, render, theme

from uqbench.boards import StoredBoard
from uqbench.cli import main
from uqbench.errors import UqbenchError
from uqbench.figure import Figure

FOLDER = Path(__file__).parents[4] / "leaderboards" / "uncertainty-toy" / "paper"


def figure(mark: str = "point", **encoding: object) -> Figure:
    hostile, url = '"><script>alert(1)</script>', "http://x.test/a"
    data = pd.DataFrame({"name": [hostile, "b"], "value": [1.0, 2.0], "url": [url] * 2})
    chart = getattr(alt.Chart(data), f"mark_{mark}")(clip=True)
    chart = chart.encode(x="value", y="name", **encoding)
    return Figure("hostile", hostile, hostile, data, chart)


def test_a_figure_has_the_same_bytes_every_time():
    (drawn, *_) = claims.figures(StoredBoard.read(FOLDER), {}).values()
    for form in render.FORMATS:
        assert render.render(drawn, form) == render.render(drawn, form), form
    assert render.render(drawn, "pdf").startswith(b"%PDF")


def test_letters_are_as_wide_on_every_machine(monkeypatch):
    """A font that a machine may have is not looked for: all are of the renderer's own."""

    def size(font: str) -> list[str]:
        monkeypatch.setitem(theme.CONFIG, "font", font)
        return re.findall(r' width="[0-9.]+"', render.svg(figure()))[:1]

    monkeypatch.setenv("FONTCONFIG_FILE", "/etc/fonts/fonts.conf")
    assert {*map(tuple, map(size, ("DejaVu Serif", "Liberation Mono")))} == {tuple(size("none"))}
    assert os.environ["FONTCONFIG_FILE"] == "/etc/fonts/fonts.conf"


def test_every_comparison_of_a_claim_has_its_mark():
    board = StoredBoard.read(FOLDER.parents[1] / "cartpole" / "paper")
    for figure in claims.figures(board, {}).values():
        marks = re.findall(r'<path[^>]* fill="#[^>]*><title>', render.svg(figure))
        assert len(marks) == len(figure.data), figure.name


def test_names_are_text_in_svg():
    text = render.svg(figure(), adaptive=True)
    root = ET.fromstring(text)
    assert not [node for node in root.iter() if node.tag.endswith("script")]
    assert '"><script>' in root.attrib["aria-label"]
    assert "prefers-color-scheme:dark" in text
    assert figure()._repr_svg_() == render.svg(figure())


@pytest.mark.parametrize(("mark", "encoding"), [("point", "href"), ("image", "url")])
def test_a_figure_with_a_link_or_an_image_is_refused(mark, encoding):
    with pytest.raises(UqbenchError, match="refers to nothing outside of itself"):
        render.svg(figure(mark, **{encoding: "url"}))


def test_ids_are_those_of_the_figure_since_several_share_a_page():
    one, other = (render.svg(figure(), prefix=name) for name in ("a-", "b-"))
    assert 'id="a-hostile-0"' in one
    assert "url(#a-hostile-0)" in one
    assert 'id="b-hostile-0"' in other


def test_the_command_writes_files_and_names_what_a_board_lacks(tmp_path, monkeypatch, capsys):
    def run(*what: str) -> tuple[int, str]:
        arguments = ["uqbench", "plot", str(FOLDER), "--to", str(tmp_path), "--what", *what]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), capsys.readouterr().err

    assert run("intervals,disentangled", "--format", "svg,csv") == (0, "")
    made = product(("disentangled", "intervals"), ("csv", "svg"))
    expected = [f"uncertainty-toy-paper-{name}.{form}" for name, form in made]
    assert sorted(path.name for path in tmp_path.iterdir()) == expected
    for name, said in {"curves": "has no curves.parquet", "interval": "mean 'intervals'"}.items():
        code, error = run(name)
        assert code == 2
        assert said in error


DRAWS = """
import altair as alt
import pandas as pd
from uqbench.contract.errors import UqbenchError
from uqbench.contract.figure import Figure
from uqbench_report.plots.render import render

data = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
figure = Figure("it", "It", "Words.", data, alt.Chart(data).mark_line().encode(x="x", y="y"))
for _ in range(2):
    try:
        print(len(render(figure, "svg")) > 500)
    except UqbenchError as error:
        print(error)
"""


def drawn(limit: str) -> str:
    command = f"ulimit -v {limit}; exec {sys.executable} -c '{DRAWS}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def test_a_limit_on_virtual_memory_costs_the_figure_and_not_the_command():
    assert drawn("unlimited") == "True\nTrue\n"
    said = drawn("9437184").splitlines()
    assert len(said) == 2
    assert all("the process that draws ended with" in line for line in said)
