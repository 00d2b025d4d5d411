"""A plugin adds figures to a board's page; one that fails costs only its own figures."""

import sys
from pathlib import Path

import altair as alt
import pandas as pd
import pytest
from uqbench_report.explorer.board import board_data
from uqbench_report.plots import catalog

from uqbench import hookimpl
from uqbench.boards import StoredBoard
from uqbench.figure import Figure
from uqbench.registry import Host

FOLDER = Path(__file__).parents[4] / "leaderboards" / "uncertainty-toy" / "paper"
DATA = pd.DataFrame({"x": [1.0, 2.0], "url": ["http://x.test"] * 2})


def figure(name: str, **more: object) -> Figure:
    chart = alt.Chart(DATA).mark_point().encode(x="x", **more)
    return Figure(name, name, "two points", DATA, chart)


@hookimpl
def good(board):
    return [figure("two-points")] if board.suite == "uncertainty-toy" else []


@hookimpl
def linked(board, suite):
    return [figure("linked", href="url"), Figure("hollow", "hollow", "no chart", DATA, None)]


@hookimpl
def broken(board):
    raise RuntimeError("no such column")


@hookimpl
def exiting(board):
    sys.exit(0)


@hookimpl
def taken(board):
    return [figure("intervals")]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("UQBENCH_PLUGINS", "builtin")
    found = Host.load()
    for function in (good, linked, broken, exiting, taken):
        plugin = type("Plugin", (), {"uqbench_figures": staticmethod(function)})
        own = {"name": function.__name__, "distribution": "x", "version": "1"}
        found.register(**own, load=lambda p=plugin: p)
    assert not found.failures
    return found


def test_a_plugin_that_fails_is_named_and_the_others_draw(host):
    board = StoredBoard.read(FOLDER)
    added, problems = catalog.plugin_figures(board, None, host)
    assert sorted(one.name for one in added) == ["hollow", "linked", "two-points"]
    assert sorted(problem.split(": ")[2] for problem in problems) == [
        "0", "no such column", "there is another figure 'intervals'; rename this one"]  # fmt: skip
    assert catalog.draw(board, "two-points", None, host).data is DATA
    data, missing = board_data(board, None, host, "leaderboards")
    assert [one["name"] for one in data["figures"]][:2] == ["two-points", "intervals"]
    assert data["figures"][0]["svg"].startswith("<svg ")
    assert any("refers to nothing outside of itself" in text for text in missing)
    assert any("hollow: AttributeError" in text for text in missing)
