"""Files of figures: the same bytes, nothing from elsewhere, a process; names beside points."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations, product
from math import hypot
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest
from uqbench_report.plots import claims, render, theme, trust
from uqbench_report.plots.labels import LETTERS, TALL, label_positions
from uqbench_report.plots.render import svg

from uqbench.boards import StoredBoard, board_folders
from uqbench.cli import main
from uqbench.errors import UqbenchError
from uqbench.figure import Figure, NotDrawableError

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


BOARDS = Path(__file__).parents[4] / "leaderboards"
SIZE = (400.0, 300.0)


def boxes(placed):
    """Left, top, right, bottom and own point of each name, in pixels."""
    for row in placed.itertuples():
        width = sum(LETTERS.get(letter, 6.2) for letter in row.method)
        top = row.label_y - TALL / 2
        yield row.method, (row.label_x, top, row.label_x + width, top + TALL), (row.x, row.y)


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] - 1e-6 and b[1] < a[3] - 1e-6


def distance(box, point):
    return hypot(*(max(box[k] - point[k], 0, point[k] - box[k + 2]) for k in (0, 1)))


def check(placed, size):
    """No name covers another; each is nearest to its own point, or a line leads to it outside."""
    names = list(boxes(placed))
    assert not any(overlap(a, b) for (_, a, _), (_, b, _) in combinations(names, 2))
    for name, box, point in names:
        others = [distance(box, other) for method, _, other in names if method != name]
        if box[0] > size[0]:
            line = placed.set_index("method").loc[name, ["line_x", "line_y"]]
            assert tuple(line) == pytest.approx((box[0], (box[1] + box[3]) / 2)), name
        else:
            assert distance(box, point) < min(others, default=np.inf), name


def test_names_of_few_points_stand_beside_them_and_across_no_bar():
    points = pd.DataFrame({"method": ["a", "b"], "x": [80.0, 320.0], "y": [240.0, 60.0]})
    placed = label_positions(points, SIZE)
    assert (abs(placed["label_x"] - placed["x"]) < 20).all()
    assert (placed["line_x"] == placed["x"]).all()  # no line leads to a name that is near
    assert label_positions(points, SIZE, [(80.0, 240.0, 200.0, 240.0)]).iloc[0]["label_y"] != 240.0


CROWDED = 16
"""Methods of a board from which on most names stand in the margin, with a line to their points."""


@pytest.mark.parametrize("wide", [1.0, 0.6])
def test_no_name_of_a_committed_board_is_nearest_to_anothers_point(wide):
    drawn = beside = 0
    for folder in board_folders(BOARDS):
        board = StoredBoard.read(folder)
        try:
            data, level = trust.frame(board.leaderboard, board.ranking)
        except NotDrawableError:
            continue
        placed = trust.chart(data, level, "score", board.finding, wide).layer[-1].data
        check(placed, (trust.WIDTH * wide, np.inf))
        assert set(placed["method"]) <= set(board.methods)
        if len(placed) < CROWDED:
            drawn += len(placed)
            beside += (placed["label_x"] < trust.WIDTH * wide).sum()
    assert drawn > 70
    assert beside > 0.7 * drawn


def test_points_are_drawn_where_their_names_are_placed_beside_them():
    """Of a board whose scores are far from 0."""
    figure = trust.figure(StoredBoard.read(BOARDS / "deepsea-deep" / "paper"))
    marks = r'translate\(([\d.]+),([\d.]+)\)"[^>]*><title>([^:]+): score'
    drawn = {name: (float(x), float(y)) for x, y, name in re.findall(marks, svg(figure))}
    placed = figure.chart.layer[-1].data.set_index("method")
    assert set(drawn) == set(placed.index)
    for name, point in drawn.items():
        assert point == pytest.approx(tuple(placed.loc[name, ["x", "y"]]), abs=0.1), name
