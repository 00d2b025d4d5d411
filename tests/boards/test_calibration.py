"""The word for a method's stated intervals, and what a board comes to."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqbench.boards.calibration import (
    JUDGED,
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
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Task

BOARDS = Path(__file__).parents[2] / "leaderboards"


TASKS = ("n4", "n8")


def word(covered, level=0.9, *, judged=True):
    """Of ``[runs, tasks]`` shares."""
    tasks = [f"n{k}" for k in range(covered.shape[1])]
    return calibration(covered, level, tasks, judged=judged, paired=False)


def shares(mean, spread, runs=20, tasks=2):
    """Runs half a spread above a mean and half below: their mean is that."""
    return np.tile(mean + spread * np.array([[1.0], [-1.0]]), (runs // 2, tasks))


@pytest.mark.parametrize(
    ("mean", "spread", "said", "here"),
    [
        (0.90, 0.02, "honest", "as stated here"),
        (0.86, 0.001, "honest", "as stated here"),
        (0.83, 0.02, "overconfident", "too narrow here"),
        (0.00, 0.00, "overconfident", "too narrow here"),
        (0.97, 0.02, "underconfident", "too wide here"),
        (1.00, 0.00, "underconfident", "too wide here"),
        (0.86, 0.08, "undecided", "undecided"),
        (0.945, 0.04, "undecided", "undecided"),
    ],
)
def test_the_word_follows_from_the_interval_of_the_coverage(mean, spread, said, here):
    covered = shares(mean, spread)
    assert word(covered) == said
    assert word(covered, judged=False) == here


def test_methods_without_intervals_state_none():
    assert calibration(None, 0.9, TASKS, judged=True, paired=True) == "states none"


def test_a_level_of_95_has_half_as_wide_a_band():
    assert word(shares(0.95, 0.02), 0.95) == "honest"
    assert word(shares(0.915, 0.01), 0.95) == "overconfident"


@pytest.mark.parametrize(
    ("runs", "tasks", "said"),
    [(9, 5, "needs 10 seeds"), (10, 1, "needs 20 seeds"), (19, 1, "needs 20 seeds")],
)
def test_fewer_than_ten_seeds_or_twenty_runs_have_no_word(runs, tasks, said):
    assert word(np.full((runs, tasks), 0.1)) == said
    assert word(np.full((10, 2), 0.1)) == word(np.full((20, 1), 0.1)) == "overconfident"


def test_tasks_that_contradict_are_mixed_and_named():
    wide, narrow, fine = shares(0.99, 0.005), shares(0.5, 0.1, tasks=1), shares(0.9, 0.02, tasks=1)
    covered = np.hstack([wide, narrow, fine])
    assert word(covered) == "mixed: too wide on n0, n1; too narrow on n2"
    assert kind(word(covered)) == "mixed"
    assert word(wide) == "underconfident"
    # a mean inside the band that hides a task outside of it
    hidden = np.hstack([shares(0.97, 0.01, tasks=1), shares(0.9, 0.02)])
    assert word(hidden) == "mixed: too wide on n0"
    # a task alone is no contradiction where the mean says the same
    assert word(np.hstack([shares(0.5, 0.02, tasks=1), fine])) == "overconfident"


def test_more_runs_of_the_same_kind_never_turn_a_word_around():
    """The band is fixed, and repeating all runs narrows the interval around the same mean.

    Of 300 laws of runs: a word stays, or becomes *mixed* once tasks are told apart; *undecided*
    alone becomes anything. A mean of .88 is not overconfident until it is honest.
    """
    generator, seen = np.random.default_rng(0), set()
    for _ in range(300):
        spread, center = generator.uniform(0.001, 0.2), generator.uniform(0.75, 1)
        runs = (center + spread * generator.standard_normal((10, 2))).clip(0, 1)
        words = [kind(word(np.tile(runs, (times, 1)))) for times in (1, 2, 4, 16, 256)]
        steps = [pair for pair in pairwise(words) if pair[0] != pair[1]]
        assert all(new == "mixed" or old == "undecided" for old, new in steps), words
        seen |= {*words}
    assert seen == {*JUDGED, "mixed", "undecided"}
    assert word(np.tile(shares(0.88, 0.05), (10, 1))) == "honest"
    assert word(shares(0.88, 0.12)) == "undecided"


def test_the_column_of_90_percent_intervals_comes_before_that_of_95():
    columns = ["coverage_95_mean", "late_coverage_95_mean", "q_coverage_90_mean", "coverage_90_iqm"]
    assert coverage_column(columns) == ("q_coverage_90_mean", 0.9)
    assert coverage_column(columns[:2]) == ("coverage_95_mean", 0.95)
    assert coverage_column(["q_coverage_90_ceiling_mean", "coverage_50_mean"]) is None
    assert coverage_column(["difference_coverage_90_mean", "late_coverage_95_mean"]) is None


def coverages(generator, seeds, tasks, rho, width, truths=128):
    """Shares of a run's normal errors, correlated by ρ, in 90 % intervals of so many widths."""
    shared, own = (generator.standard_normal((seeds, tasks, n)) for n in (1, truths))
    errors = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own
    return (np.abs(errors) < 1.6448536 * width).mean(axis=-1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("width", "right"), [(1, "honest"), (2, "under"), (0.5, "over")])
def test_words_are_right_whatever_ties_a_runs_errors_together(width, right, rho):
    """Of 300 boards of ten seeds on two tasks a wrong word at most in 5 % + 4 standard errors.

    And against intervals twice too wide or too narrow at least 90 % right words (true: 94 % and
    more). Where 85 % are covered, at the band's end, *overconfident* in 5 % + 2 standard errors.
    """
    generator = np.random.default_rng(1)
    words = [word(coverages(generator, 10, 2, rho, width)) for _ in range(300)]
    wrong = {"honest": ("over", "under"), "under": ("over", "honest"), "over": ("under", "honest")}
    share = sum(one.startswith(wrong[right] + ("mixed",)) for one in words) / 300
    assert share <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)
    if right != "honest":
        found = sum(one.startswith(right) for one in words) / 300
        assert found >= 0.9
    else:
        ends = [word(coverages(generator, 10, 2, rho, 0.8752)) for _ in range(300)]
        assert np.mean([one == "overconfident" for one in ends]) <= 0.05 + 2 * np.sqrt(0.05 / 300)


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
        ("priormdp-sbc", "paper", "can be honest, underconfident, overconfident, mixed or und"),
        ("deepsea", "demo", "can be as stated here, too wide here, too narrow here, mixed or und"),
        ("minatar", "cpu", "Stated intervals have a word from 10 seeds on; these are 6."),
        ("minatar", "quick", "Stated intervals have a word from 20 seeds on; these are 3."),
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
    assert with_share("needs 10 seeds", 0.516) == "52 %, needs 10 seeds"
    assert with_share("mixed: too wide on n4", 0.9) == "mixed"
    assert with_share("honest", 0.9) == "honest"


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
            said = methods["calibration"]
            assert all(kind(one) == one or one.startswith(("mixed:", "needs")) for one in said)


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
            f"iqm is 0.500, and nobody is first. {UNTUNED}Share of true values inside stated "
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
