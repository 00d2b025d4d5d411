"""Figures of plugins are tried on boards that have next to nothing."""

from types import SimpleNamespace

import altair as alt
import pandas as pd
import pytest
from uqbench_testing.conformance.figures import FigureSubject
from uqbench_testing.results import results

from uqbench.figure import Figure, NotDrawableError
from uqbench.registry import Host
from uqbench.suites import read_suites


@pytest.fixture(scope="module")
def outcome():
    host = Host.load()
    suites = {"five-state": read_suites(host, check=()).suite("five-state")}

    def tried(function):
        hook = SimpleNamespace(function=function, argnames=("board",))
        (found,) = results([FigureSubject(name="toy", hook=hook, suites=suites, host=host)])
        return found.status, found.message

    return tried


def figure(board):
    data = board.leaderboard[["method", "mean"]].dropna()
    chart = alt.Chart(data).mark_point().encode(x="mean:Q", y="method:N")
    return Figure("means", "Means", "Every mean.", data, chart)


def test_a_figure_of_any_board_passes_and_so_does_one_that_says_what_it_lacks(outcome):
    def says(board):
        raise NotDrawableError("it needs two methods")

    assert outcome(lambda board: [figure(board)]) == ("passed", "2 drawn")
    assert outcome(says) == ("passed", "0 drawn")
    assert outcome(lambda board: None) == ("passed", "0 drawn")


def of_two_methods(board):
    assert len(board.leaderboard.iloc[1])
    return [figure(board)]


def of_a_run(board):
    assert len(board.leaderboard.dropna(subset=["mean"]).iloc[0])
    return [figure(board)]


def of_no_column(board):
    chart = alt.Chart(pd.DataFrame()).mark_point().encode(x="mean")
    return [Figure("means", "Means", "Every mean.", pd.DataFrame(), chart)]


@pytest.mark.parametrize(
    ("planted", "said"),
    [(of_two_methods, "IndexError"), (of_a_run, "IndexError"), (of_no_column, "ValueError")],
)
def test_a_figure_that_needs_more_than_one_method_or_a_run_is_found(outcome, planted, said):
    status, message = outcome(planted)
    assert status == "failed"
    assert said in message
