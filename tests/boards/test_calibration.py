"""The word for a method's stated intervals, and the headline that it is in."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards import StoredBoard, Told, board_folders, calibration
from uqbench.boards.calibration import CALIBRATED, NARROW, OPEN, WIDE, WORDS, coverage_column, word
from uqbench.boards.matrices import MethodScores
from uqbench.results import CellScores, Score
from uqbench.statistics.estimate import estimate
from uqbench.suites import Metric, Suite, Task
from uqbench.suites.metrics import TRUTH_ERROR

BOARDS = Path(__file__).parents[2] / "leaderboards"


def printed(covered):
    """The interval of shares ``[runs, tasks]`` that a board prints."""
    of = estimate("mean", covered, [(0.0, 1.0)] * covered.shape[1])
    return of.low, of.high


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.86, 0.94, CALIBRATED),
        (0.8501, 0.9499, CALIBRATED),
        (0.70, 0.84, NARROW),
        (0.00, 0.20, NARROW),
        (0.951, 1.00, WIDE),
        (0.84, 0.90, OPEN),
        (0.832, 1.0, OPEN),
        (math.nan, math.nan, OPEN),
    ],
)
def test_the_word_is_the_printed_interval_against_the_band(low, high, said):
    assert word(low, high, 0.9) == said


def test_a_level_of_95_has_half_as_wide_a_band():
    assert (word(0.93, 0.97, 0.95), word(0.90, 0.92, 0.95)) == (CALIBRATED, NARROW)


def test_more_runs_of_the_same_kind_never_turn_a_word_around():
    """The band is fixed, and repeating all runs narrows the interval around the same mean."""
    generator, seen = np.random.default_rng(0), set()
    for _ in range(40):
        spread, center = generator.uniform(0.001, 0.2), generator.uniform(0.75, 1)
        runs = (center + spread * generator.standard_normal((10, 2))).clip(0, 1)
        said = [word(*printed(np.tile(runs, (times, 1))), 0.9) for times in (1, 4, 16)]
        assert all(old in (OPEN, new) for old, new in pairwise(said)), said
        seen |= {*said}
    assert seen == {*WORDS}


def test_the_column_of_90_percent_intervals_comes_before_that_of_95():
    columns = ["coverage_95_mean", "late_coverage_95_mean", "q_coverage_90_mean", "coverage_90_iqm"]
    assert coverage_column(columns) == ("q_coverage_90_mean", 0.9)
    assert coverage_column(columns[:2]) == ("coverage_95_mean", 0.95)
    assert coverage_column(["q_coverage_90_ceiling_mean", "coverage_50_mean"]) is None
    assert coverage_column(["difference_coverage_90_mean", "late_coverage_95_mean"]) is None


def own(suite, noise):
    """Scores of one method whose error is 1 on both tasks, against a truth of such an error."""
    values = {"coverage": 0.9, "error": 1.0, "noise": noise}
    cells = {
        task.name: CellScores(
            task.name, "a",
            [Score(task.name, "a", k, "finished", "cpu", 0.0, values, "") for k in range(3)],
        )
        for task in suite.tasks
    }  # fmt: skip
    return MethodScores(suite, cells)


@pytest.mark.parametrize(
    ("worlds", "kind_of", "noise", "said"),
    [
        (("drawn", "drawn"), "agent", None, "Worlds are drawn from the prior"),
        (("drawn", "fixed"), "agent", None, "Worlds are fixed"),
        (("fixed", "fixed"), "agent", 0.0, "Worlds are fixed"),
        (("fixed", "fixed"), "queries", 0.9, "Noise of reference values, below"),
        (("fixed", "fixed"), "queries", 1.1, "Part of what intervals miss may be noise"),
        (("fixed", "fixed"), "queries", None, "Part of what intervals miss may be noise"),
    ],
)
def test_a_board_says_what_its_words_are_worth(worlds, kind_of, noise, said):
    tasks = tuple(
        Task(name=f"n{k}", environment="walk", discount=1.0, worlds=of)
        for k, of in enumerate(worlds)
    )
    named = {"coverage": "coverage_90", "error": "queries/q_error", "noise": TRUTH_ERROR}
    metrics = tuple(
        Metric(name=name, summary="", kind=kind_of if name == "coverage" else "queries",
               statistic=statistic)
        for name, statistic in named.items())  # fmt: skip
    suite = Suite.model_construct(tasks=tasks, metrics=metrics)
    rows = {"task": [task.name for task in tasks], "method": "a", "q_error": 1.0}
    frame = pd.DataFrame(rows if noise is None else rows | {"truth_error": noise})
    assert calibration.worth(suite, "coverage_mean", {"a": own(suite, noise)}, frame).startswith(
        said
    )


def test_worlds_are_in_no_identity():
    drawn = Task(name="a", dataset="d", worlds="drawn")
    assert drawn.model_dump() == Task(name="a", dataset="d").model_dump()


def test_words_of_older_boards_are_read_by_their_intervals():
    columns = ["method", "role", "calibration", "coverage_90_mean"]
    rows = [("a", "method", "needs 10 seeds", 0.5), ("b", "trivial", "", 0.9),
            ("c", "method", "states none", math.nan)]  # fmt: skip
    old = pd.DataFrame(rows, columns=columns)
    old = old.assign(coverage_90_mean_low=0.4, coverage_90_mean_high=0.6)
    assert list(calibration.with_words(old)["calibration"]) == [NARROW, "", "–"]
    assert calibration.words(old.drop(columns="coverage_90_mean")) == {}


def test_where_the_posterior_is_exact_its_intervals_are_calibrated():
    board = StoredBoard.read(BOARDS / "priormdp-sbc" / "paper").leaderboard
    said = dict(zip(board["method"], board["calibration"], strict=True))
    assert (said["psrl"], said["bql"]) == (CALIBRATED, NARROW)
    assert said["mm"] == OPEN  # covers 84 %, and its interval contains the band's end
    assert said["ube"] == said["ube-zeta-1"] == WIDE


def test_all_committed_boards_that_ask_for_intervals_have_words():
    for folder in board_folders(BOARDS):
        table = StoredBoard.read(folder).leaderboard
        if coverage_column(map(str, table)) is not None:
            assert {*table[table["role"] == "method"]["calibration"]} <= {*WORDS, "–"}
            assert {*table.loc[table["role"] != "method", "calibration"]} <= {""}


def row(method, role="method", rank=1, low=1, high=2, beats="yes", coverage=0.9):
    given = role == "method"
    ends = dict(zip(("", "_low", "_high"), (0.0, -0.04, 0.04), strict=True))
    return {
        "method": method, "role": role, "rank": rank if given else None,
        "rank_low": low if given else None, "rank_high": high if given else None,
        "beats_trivial": beats if given else "", "iqm": 0.5,
        **{f"coverage_90_mean{end}": coverage + by if given else None for end, by in ends.items()},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [row("a", high=1), row("b", rank=2, low=2, coverage=0.1)],
            "a (0.50) is best of 2 methods. Its 90 % intervals cover 90 % (calibrated) of true "
            "values; do not trust those of b (10 %).",
        ),
        (
            [row(name, beats="no", coverage=0.1) for name in "ab"] + [row("script", "trivial")],
            "No method beats the trivial script (0.50); a comes closest (0.50). Trust no method's "
            "90 % intervals: they cover 10 % of true values.",
        ),
        (
            [
                row("a"),
                row("b"),
                row("c", rank=3, low=3, high=3, beats="no"),
                row("script", "trivial"),
            ],
            "a (0.50) or b (0.50) is best of 3 methods. The 90 % intervals are calibrated: they "
            "cover 90 % of true values. c does not beat the trivial script (0.50).",
        ),
    ],
)
def test_the_headline_says_who_is_best_and_whose_intervals_to_trust(rows, said):
    assert told(rows).headline == said


def told(rows, **of):
    """What is said of a board of these rows, with a mean of 1 each on its one task."""
    tasks = pd.DataFrame([{"task": "t", "method": one["method"], "r": 1.0} for one in rows])
    given = {"ranks": True, "tasks": tasks, "metric": ("r", "max")}
    return Told(pd.DataFrame(rows), "iqm", **given | of)


def test_a_budget_that_cannot_rank_is_said_first():
    said = told([row("a"), row("b")], ranks=False).headline
    assert said.startswith("The budget does not rank methods: ")
