"""Figures of some methods and tasks: the same colors as with all."""

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from uqbench_report.cli.plot import command
from uqbench_report.plots import curves, render
from uqbench_report.plots.catalog import showing

from uqbench.boards import StoredBoard
from uqbench.errors import UqbenchError

FOLDER = Path(__file__).parents[4] / "leaderboards" / "minatar" / "night"


def test_a_figure_has_the_rows_of_the_selected_methods_and_tasks_alone():
    board = showing(StoredBoard.read(FOLDER), ["dqn", "qr-dqn"], ["breakout"])
    data = curves.figure(board).data
    assert set(data["method"]) == {"dqn", "qr-dqn"}
    assert set(data["task"]) == {"breakout"}
    assert set(board.pairs["first"]) | set(board.pairs["second"]) == {"dqn", "qr-dqn"}


def test_a_method_keeps_its_color_whichever_others_are_drawn():
    def color(names):
        chart = curves.figure(showing(StoredBoard.read(FOLDER), names, ["breakout"])).chart
        scale = re.search(r"'domain': (\[.*?\]).*?'range': (\[.*?\])", str(chart.to_dict()))
        return dict(zip(*map(ast.literal_eval, scale.groups()), strict=True))["qr-dqn"]

    assert color(["qr-dqn"]) == color(["dqn", "ua-dqn", "qr-dqn"])


def test_an_unknown_method_is_refused_with_the_nearest_name():
    with pytest.raises(UqbenchError, match="qr-dqn"):
        showing(StoredBoard.read(FOLDER), ["qrdqn"], [])


def test_a_png_is_written_of_some_methods(tmp_path):
    options = ["--what", "curves", "--methods", "dqn,ua-dqn", "--format", "png"]
    done = CliRunner().invoke(command, [str(FOLDER), *options, "--to", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.iterdir()
    assert path.name == "minatar-night-curves.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "png" in render.FORMATS
