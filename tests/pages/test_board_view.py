"""One view of a board: computed from its scores and read from its files, it says the same."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from uqbench.boards import StoredBoard
from uqbench.boards.calibration import word
from uqbench.pages.board_view import BoardView, Line
from uqbench.pages.notebook import html
from uqbench.registry.load_host import load_host
from uqbench.statistics.estimate import Estimate
from uqbench.suites import Selection
from uqbench.suites.plan import board_title

FOLDER = Path(__file__).parents[2] / "leaderboards" / "uncertainty-toy" / "paper"


PRINTED = re.compile(r"(calibrated|too narrow|too wide|open) [\d.]+ % \[([\d.]+), ([\d.]+)\]")


def test_printed_ends_of_an_interval_lie_on_the_side_of_the_band_that_the_word_says():
    """[0.848, 0.92] is open; printed as [85, 92] it would be calibrated."""
    ends = np.linspace(0.84, 0.96, 61)
    pairs = [(low, high) for low in ends for high in ends if low < high]
    for low, high in [*pairs, (0.8487, 0.9218), (0.849999, 0.95), (0.925001, 0.97)]:
        for level in (0.9, 0.95):
            name, said = f"coverage_{100 * level:.0f}_mean", word(low, high, level)
            share = Estimate((low + high) / 2, low, high)
            line = Line("m", None, False, False, "method", "", "", (), 3, 3, said, {name: share})
            _, least, most = PRINTED.fullmatch(line.word).groups()
            assert word(float(least) / 100, float(most) / 100, level) == said, line.word


@pytest.fixture(scope="module")
def stored():
    return StoredBoard.read(FOLDER)


@pytest.fixture(scope="module")
def computed(stored):
    host, selection = load_host(), Selection("uncertainty-toy", "paper")
    return stored.board(selection.plan(host, "cpu"), selection, host, lambda _: None)


def test_a_stored_board_has_the_view_of_the_board_that_its_scores_make(stored, computed):
    one, other = BoardView.of(stored), BoardView.of(computed)
    assert one.title == other.title == "uncertainty-toy · paper"
    names = ["rank", "method", one.ranking, "worst_quarter", "runs"]
    for name in [*names, f"improvement_over_{computed.plan.suite.baseline}"]:
        assert one.column(name).header == other.column(name).header
        assert one.column(name).texts == other.column(name).texts, name
    for line, own in zip(one.lines, other.lines, strict=True):
        assert line.estimates.keys() >= own.estimates.keys()
        for name, estimate in own.estimates.items():
            assert line.value(name) == pytest.approx(estimate.value, rel=1e-5, abs=1e-9)


def test_a_selection_has_no_digest_in_its_title_and_a_method_alone_no_rank():
    assert board_title("deepsea", "paper-selection-05fedb28") == "deepsea · paper (selection)"
    alone = FOLDER.parents[1] / "priormdp" / "published"
    board = StoredBoard.read(alone)
    assert [line.place for line in BoardView.of(board).lines] == [None]
    assert "rank" not in (alone / "README.md").read_text().lower()
    assert board.finding.endswith("Its 90 % intervals cover 78 % (too narrow) of true values.")


def test_a_notebook_escapes_names_and_explains_its_mark(computed):
    view = BoardView.of(computed)
    hostile = replace(view.lines[0], method="<script>", beaten=True)
    text = html("here", {"finished": 2}, [replace(view, lines=(hostile, *view.lines[1:]))])
    assert "<script>" not in text
    assert "&lt;script&gt; †" in text
    assert "† does not" in text
    unbeaten = [replace(line, beaten=False) for line in view.lines]
    assert "†" not in html("here", {}, [replace(view, lines=tuple(unbeaten))])
