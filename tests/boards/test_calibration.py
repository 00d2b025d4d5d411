"""The word for a method's stated intervals, and what a board comes to."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards.calibration import WORDS, calibration, coverage_column
from uqbench.boards.finding import finding
from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.statistics.estimate import Estimate, estimate

BOARDS = Path(__file__).parents[2] / "leaderboards"


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.86, 0.94, "honest"),
        (0.86, 0.89, "honest"),
        (0.84, 0.89, "overconfident"),
        (0.00, 0.10, "overconfident"),
        (0.91, 0.99, "underconfident"),
        (0.84, 0.96, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_the_word_follows_from_the_interval_of_the_coverage(low, high, word):
    assert calibration(Estimate(0.9, low, high), 0.9) == word


def test_methods_without_intervals_state_none():
    assert calibration(None, 0.9) == "states none"


def test_a_level_of_95_has_half_as_wide_a_band():
    assert calibration(Estimate(0.95, 0.93, 0.97), 0.95) == "honest"
    assert calibration(Estimate(0.95, 0.91, 0.94), 0.95) == "overconfident"


def test_the_column_of_90_percent_intervals_comes_before_that_of_95():
    columns = ["coverage_95_mean", "late_coverage_95_mean", "q_coverage_90_mean", "coverage_90_iqm"]
    assert coverage_column(columns) == ("q_coverage_90_mean", 0.9)
    assert coverage_column(columns[:2]) == ("coverage_95_mean", 0.95)
    assert coverage_column(["q_coverage_90_ceiling_mean", "coverage_50_mean"]) is None
    assert coverage_column(["difference_coverage_90_mean", "late_coverage_95_mean"]) is None


def test_exact_intervals_are_hardly_ever_called_dishonest():
    """Of 400 boards of a hundred runs with 32 exact intervals, at most 5 % + 4 standard errors
    are called over- or underconfident."""
    generator = np.random.default_rng(0)
    words = []
    for _ in range(400):
        runs = generator.binomial(32, 0.9, size=(100, 1)) / 32
        words.append(calibration(estimate("mean", runs, [(0.0, 1.0)]), 0.9))
    wrong = sum(word in ("overconfident", "underconfident") for word in words) / 400
    assert wrong <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    assert words.count("honest") > 300


def test_where_the_posterior_is_exact_its_intervals_are_honest():
    board = StoredBoard.read(BOARDS / "priormdp-sbc" / "paper").leaderboard
    words = dict(zip(board["method"], board["calibration"], strict=True))
    assert words["psrl"] == "honest"
    assert words["bql"] == words["mm"] == "overconfident"
    assert words["ube"] == words["ube-zeta-1"] == "underconfident"


def test_all_committed_boards_that_ask_for_intervals_have_words():
    for folder in board_folders(BOARDS):
        table = StoredBoard.read(folder).leaderboard
        if coverage_column(map(str, table)) is not None and "calibration" in table:
            methods = table[table["role"] == "method"]
            assert set(methods["calibration"]) <= set(WORDS), folder


def row(method, role="method", rank=1, low=1, beats="yes", word="honest", coverage=0.9):
    given = role == "method"
    return {
        "method": method, "role": role, "rank": rank if given else None,
        "rank_low": low if given else None, "beats_trivial": beats if given else None,
        "calibration": word if given else None, "iqm": 0.5,
        "coverage_90_mean": coverage if given else None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [row("a"), row("b", rank=2, low=2, word="overconfident", coverage=0.04)],
            "a is first of 2 methods. Share of true values inside stated 90 % intervals: a 90 % "
            "(honest); b 4 % (overconfident).",
        ),
        (
            [row(name, beats="no", word="overconfident", coverage=0.1) for name in "ab"]
            + [row("script", "trivial")],
            "No two of the 2 methods differ significantly. No method beats script, which learns "
            "nothing. Share of true values inside stated 90 % intervals: a and b 10 % "
            "(overconfident).",
        ),
        (
            [row("a"), row("b"), row("c", rank=3, low=3, beats="no"), row("script", "trivial")],
            "a and b share the first place of 3 methods. c does not beat script, which learns "
            "nothing. Share of true values inside stated 90 % intervals: a, b and c 90 % (honest).",
        ),
    ],
)
def test_the_finding_says_who_is_first_and_whose_intervals_can_be_trusted(rows, said):
    untuned = "No method of this board was tuned. "
    assert finding(pd.DataFrame(rows), "iqm", ranks=True) == untuned + said


def test_a_budget_that_cannot_rank_is_said_first():
    told = finding(pd.DataFrame([row("a"), row("b")]), "iqm", ranks=False)
    assert told.startswith("The budget does not rank methods.")


def test_where_a_budget_does_not_rank_the_numbers_that_tell_methods_apart_lead():
    def of(method, speed, risk=0.0, beats="yes"):
        return row(method, beats=beats, coverage=None) | {
            f"{name}_mean{end}": value + shift
            for name, value in (("top_speed", speed), ("risk", risk))
            for end, shift in (("", 0.0), ("_low", -0.1), ("_high", 0.1))
        }

    rows = [of("a", 0.5), of("b", 0.45, 0.1), of("c", 0.2, 0.05)]
    said = "In 1 of 2 numbers not all 95 % intervals overlap: top speed (highest: a and b). "
    told = finding(pd.DataFrame(rows), "iqm", ranks=False)
    assert told.startswith(f"{said}The budget does not rank methods.")
    rows[2] = of("c", 0.2, beats="no")  # what does not learn is told from the others by anything
    told = finding(pd.DataFrame([*rows, row("script", "trivial")]), "iqm", ranks=False)
    assert told.startswith("The budget does not rank methods.")
