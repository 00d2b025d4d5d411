"""Figures of the suites, drawn from the committed boards."""

from pathlib import Path

import pytest
from uqbench_tabular.plugin import uqbench_figures

from uqbench.boards import StoredBoard
from uqbench.plots.render import svg
from uqbench.registry import Host
from uqbench.suites import read_suites

BOARDS = Path(__file__).parents[3] / "leaderboards"
NONE = not BOARDS.is_dir()
pytestmark = pytest.mark.skipif(NONE, reason="needs a clone: the boards are in no wheel")


@pytest.fixture(scope="module")
def suites():
    return read_suites(Host.load(), check=()).suites


def test_the_chart_of_ubes_terms_has_each_world_and_the_published_bars(suites):
    board = StoredBoard.read(BOARDS / "ube-terms" / "paper")
    (figure,) = uqbench_figures(board, suites["ube-terms"])
    data = figure.data.set_index(["world", "term"])
    assert set(figure.data["world"]) == {*board.tasks["task"], "deepsea-4, published"}
    row = board.tasks.set_index(["task", "method"]).loc[("deepsea-4", "ube-zeta-1")]
    drawn = data.loc[("deepsea-4", "term of Q_max")]
    assert drawn.tolist() == [row["q_max_term_low"], row["q_max_term_high"]]
    for term in ("term of Q_max", "variance of the mean reward"):
        ratio = data.loc[("deepsea-4", term)] / data.loc[("deepsea-4, published", term)]
        assert ratio.between(0.5, 2).all()  # of one run there, of ten here
    assert svg(figure).startswith("<svg ")


def test_published_panels_are_on_the_boards_that_have_published_numbers(suites):
    names = {"deepsea": ["published-panels"], "ube-terms": ["terms-of-ube"], "five-state": []}
    for suite, expected in names.items():
        board = StoredBoard.read(BOARDS / suite / "paper")
        assert [figure.name for figure in uqbench_figures(board, suites[suite])] == expected
