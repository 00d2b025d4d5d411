"""The word for a method's stated intervals, and the headline that it is in."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards import StoredBoard
from uqbench.boards.calibration import (
    CALIBRATED,
    NARROW,
    OPEN,
    WIDE,
    WORDS,
    with_words,
    word,
    words,
    worth,
)
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
    ("low", "high", "level", "said"),
    [
        (0.86, 0.94, 0.9, CALIBRATED), (0.8501, 0.9499, 0.9, CALIBRATED),
        (0.70, 0.84, 0.9, NARROW), (0.951, 1.00, 0.9, WIDE), (0.84, 0.90, 0.9, OPEN),
        (0.832, 1.0, 0.9, OPEN), (math.nan, math.nan, 0.9, OPEN),
        (0.93, 0.97, 0.95, CALIBRATED), (0.90, 0.92, 0.95, NARROW),
    ],
)  # fmt: skip
def test_the_word_is_the_printed_interval_against_the_band(low, high, level, said):
    """That of 95 % is half as wide."""
    assert word(low, high, level) == said


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


@pytest.mark.parametrize(("seeds", "tasks"), [(10, 2), (20, 1)])
@pytest.mark.parametrize("failed", [0, 1 / 15])
def test_a_word_is_hardly_ever_wrong_runs_that_failed_among_them(seeds, tasks, failed):
    """Of 200 boards, at most 5 % + 2 standard errors; nine tenths of what did learn is inside."""
    generator, wrong = np.random.default_rng(1), 0
    right = 0.9 * (1 - failed)
    for _ in range(200):
        learned = generator.random((seeds, tasks)) >= failed
        runs = np.where(learned, generator.beta(45, 5, (seeds, tasks)), 0.0)
        side = CALIBRATED if 0.85 <= right <= 0.95 else NARROW
        wrong += word(*printed(runs), 0.9) not in (side, OPEN)
    assert wrong / 200 <= 0.08


def own(suite, noise):
    """Scores of one method whose error is 1 on both tasks, against a truth of such an error."""
    values = {"coverage": 0.9, "error": 1.0, "noise": noise}

    def scored(task: str) -> CellScores:
        runs = [Score(task, "a", k, "finished", "cpu", 0.0, values, "") for k in range(3)]
        return CellScores(task, "a", runs)

    return MethodScores(suite, {task.name: scored(task.name) for task in suite.tasks})


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
        for name, statistic in named.items()
    )  # fmt: skip
    suite = Suite.model_construct(tasks=tasks, metrics=metrics)
    rows = {"task": [task.name for task in tasks], "method": "a", "q_error": 1.0}
    frame = pd.DataFrame(rows if noise is None else rows | {"truth_error": noise})
    assert worth(suite, "coverage_mean", {"a": own(suite, noise)}, frame).startswith(said)


def test_worlds_are_in_no_identity():
    drawn = Task(name="a", dataset="d", worlds="drawn")
    assert drawn.model_dump() == Task(name="a", dataset="d").model_dump()


def test_words_of_older_boards_are_read_by_their_intervals():
    columns = ["method", "role", "calibration", "coverage_90_mean"]
    rows = [("a", "method", "needs 10 seeds", 0.5), ("b", "trivial", "", 0.9),
            ("c", "method", "states none", math.nan)]  # fmt: skip
    old = pd.DataFrame(rows, columns=columns)
    old = old.assign(coverage_90_mean_low=0.4, coverage_90_mean_high=0.6)
    assert list(with_words(old)["calibration"]) == [NARROW, "", "–"]
    assert words(old.drop(columns="coverage_90_mean")) == {}


def test_where_the_posterior_is_exact_its_intervals_are_calibrated():
    board = StoredBoard.read(BOARDS / "priormdp-sbc" / "paper").leaderboard
    said = dict(zip(board["method"], board["calibration"], strict=True))
    assert said["psrl"] == CALIBRATED
    assert said["bql"] == NARROW
    assert said["mm"] == OPEN  # covers 84 %, and its interval contains the band's end
    assert said["ube"] == said["ube-zeta-1"] == WIDE
