"""The word for a method's stated intervals, and what a board comes to."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards.calibration import (
    JUDGED,
    WORDS,
    calibration,
    coverage_column,
    kind,
    must_cover,
    with_share,
    words_note,
)
from uqbench.boards.finding import finding
from uqbench.boards.matrices import MethodScores
from uqbench.boards.stored import StoredBoard, board_folders
from uqbench.registry.plugins import Host
from uqbench.results.scores import CellScores, Score
from uqbench.statistics.estimate import Estimate, estimate
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Task

BOARDS = Path(__file__).parents[2] / "leaderboards"


def word(low, high, level=0.9, *, judged=True):
    """The word for an interval of the share of truths inside."""
    return calibration(Estimate((low + high) / 2, low, high), level, judged=judged)


def printed(covered):
    """The interval of shares ``[runs, tasks]`` that a board prints."""
    of = estimate("mean", covered, [(0.0, 1.0)] * covered.shape[1])
    return of.low, of.high


@pytest.mark.parametrize(
    ("low", "high", "said", "here"),
    [
        (0.86, 0.94, "honest", "as stated here"),
        (0.8501, 0.9499, "honest", "as stated here"),
        (0.70, 0.84, "overconfident", "too narrow here"),
        (0.00, 0.20, "overconfident", "too narrow here"),
        (0.951, 1.00, "underconfident", "too wide here"),
        (0.84, 0.90, "undecided", "undecided"),
        (0.832, 1.0, "undecided", "undecided"),
    ],
)
def test_the_word_is_the_printed_interval_against_the_band(low, high, said, here):
    assert word(low, high) == said
    assert word(low, high, judged=False) == here


def test_methods_without_intervals_state_none():
    assert calibration(None, 0.9, judged=True) == "states none"


def test_of_too_few_runs_for_an_interval_nothing_is_decided():
    assert calibration(Estimate(0.1, None, None), 0.9, judged=True) == "undecided"


def test_a_level_of_95_has_half_as_wide_a_band():
    assert word(0.93, 0.97, 0.95) == "honest"
    assert word(0.90, 0.92, 0.95) == "overconfident"


def test_more_runs_of_the_same_kind_never_turn_a_word_around():
    """The band is fixed, and repeating all runs narrows the interval around the same mean."""
    generator, seen = np.random.default_rng(0), set()
    for _ in range(40):
        spread, center = generator.uniform(0.001, 0.2), generator.uniform(0.75, 1)
        runs = (center + spread * generator.standard_normal((10, 2))).clip(0, 1)
        words = [word(*printed(np.tile(runs, (times, 1)))) for times in (1, 4, 16)]
        assert all(old in ("undecided", new) for old, new in pairwise(words)), words
        seen |= {*words}
    assert seen == {*JUDGED, "undecided"}


def test_the_column_of_90_percent_intervals_comes_before_that_of_95():
    columns = ["coverage_95_mean", "late_coverage_95_mean", "q_coverage_90_mean", "coverage_90_iqm"]
    assert coverage_column(columns) == ("q_coverage_90_mean", 0.9)
    assert coverage_column(columns[:2]) == ("coverage_95_mean", 0.95)
    assert coverage_column(["q_coverage_90_ceiling_mean", "coverage_50_mean"]) is None
    assert coverage_column(["difference_coverage_90_mean", "late_coverage_95_mean"]) is None


@pytest.mark.parametrize(("seeds", "tasks"), [(10, 2), (20, 1)])
@pytest.mark.parametrize("failed", [0, 1 / 15])
def test_a_word_is_hardly_ever_wrong_runs_that_failed_among_them(seeds, tasks, failed):
    """Of 200 boards, at most 5 % + 2 standard errors; nine tenths of what did learn is inside."""
    generator, wrong = np.random.default_rng(1), 0
    right = 0.9 * (1 - failed)
    for _ in range(200):
        learned = generator.random((seeds, tasks)) >= failed
        found = word(*printed(np.where(learned, generator.beta(45, 5, (seeds, tasks)), 0.0)))
        side = "honest" if 0.85 <= right <= 0.95 else "overconfident"
        wrong += found not in (side, "undecided")
    assert wrong / 200 <= 0.08


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
    ("worlds", "kind_of", "noise", "judged"),
    [
        (("drawn", "drawn"), "agent", None, True),
        (("drawn", "fixed"), "agent", None, False),
        (("fixed", "fixed"), "agent", 0.0, False),
        (("fixed", "fixed"), "queries", 0.9, True),
        (("fixed", "fixed"), "queries", 1.1, False),
        (("fixed", "fixed"), "queries", None, False),
    ],
)
def test_intervals_are_judged_where_exact_ones_must_cover(worlds, kind_of, noise, judged):
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
    assert must_cover(suite, metrics[0], own(suite, noise)) is judged


@pytest.mark.parametrize(
    ("suite", "budget", "said"),
    [
        ("priormdp-sbc", "paper", "can be honest, underconfident, overconfident or und"),
        ("deepsea", "demo", "can be as stated here, too wide here, too narrow here or und"),
    ],
)
def test_a_dry_run_says_which_words_the_runs_can_earn(suite, budget, said):
    host = Host.load()
    plan = make_plan(read_suites(host, check=()).suite(suite), host, budget, device="cpu")
    assert said in words_note(plan)


def test_worlds_are_in_no_identity():
    drawn = Task(name="a", dataset="d", worlds="drawn")
    assert drawn.model_dump() == Task(name="a", dataset="d").model_dump()


def test_tables_show_how_few_truths_lie_inside():
    assert with_share("too narrow here", 0.016) == "too narrow here (2 %)"
    assert with_share("honest", 0.9) == "honest"


def test_words_of_older_boards_are_read_as_undecided():
    assert kind("needs 10 seeds") == kind("mixed: too wide on n4") == "undecided"
    assert kind("honest") == "honest"


def test_where_the_posterior_is_exact_its_intervals_are_honest():
    board = StoredBoard.read(BOARDS / "priormdp-sbc" / "paper").leaderboard
    words = dict(zip(board["method"], board["calibration"], strict=True))
    assert words["psrl"] == "honest"
    assert words["bql"] == "overconfident"
    assert words["mm"] == "undecided"  # covers 84 %, and its interval contains the band's end
    assert words["ube"] == words["ube-zeta-1"] == "underconfident"


def test_all_committed_boards_that_ask_for_intervals_have_words():
    for folder in board_folders(BOARDS):
        table = StoredBoard.read(folder).leaderboard
        if coverage_column(map(str, table)) is not None and "calibration" in table:
            methods = table[table["role"] == "method"]
            assert {*map(kind, methods["calibration"])} <= {*WORDS}


def row(method, role="method", rank=1, low=1, high=2, beats="yes", word="honest", coverage=0.9):
    given = role == "method"
    return {
        "method": method, "role": role, "rank": rank if given else None,
        "rank_low": low if given else None, "rank_high": high if given else None,
        "beats_trivial": beats if given else None,
        "calibration": word if given else None, "iqm": 0.5,
        "coverage_90_mean": coverage if given else None,
    }  # fmt: skip


UNTUNED = "No method of this board was tuned. "


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [row("a", high=1), row("b", rank=2, low=2, word="overconfident", coverage=0.04)],
            UNTUNED
            + "a is first of 2 methods. Share of true values inside stated 90 % intervals: a 90 % "
            "(honest); b 4 % (overconfident).",
        ),
        (
            [row(name, beats="no", word="overconfident", coverage=0.1) for name in "ab"]
            + [row("script", "trivial")],
            "The board measures its task, since no method beats script, which learns nothing: its "
            f"iqm is 0.500. {UNTUNED}Share of true values inside stated "
            "90 % intervals: a and b 10 % (overconfident).",
        ),
        (
            [
                row("a"),
                row("b"),
                row("c", rank=3, low=3, high=3, beats="no"),
                row("script", "trivial"),
            ],
            UNTUNED + "Of 3 methods, a and b may be first. c does not beat script, which learns "
            "nothing. Share of true values inside stated 90 % intervals: a, b and c 90 % (honest).",
        ),
    ],
)
def test_the_finding_says_who_is_first_and_whose_intervals_can_be_trusted(rows, said):
    assert finding(pd.DataFrame(rows), "iqm", ranks=True) == said


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
