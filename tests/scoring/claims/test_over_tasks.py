"""Claims in which a task is one observation."""

import numpy as np
import pytest
from scipy import stats

from uqbench.claim import Observations
from uqbench.scoring.claims.band import Band
from uqbench.scoring.claims.over_tasks import OverTasks
from uqbench.scoring.claims.verdict import ALPHA, Verdict, combine, find

TASKS = ("a", "b", "c", "d", "e")


def shared(*speeds):
    """Steps per second, ``[5 runs, tasks]``, of which all runs of a task share theirs."""
    return np.tile(np.array(speeds, dtype=float), (5, 1))


FAST, SLOW = shared(100, 200, 400, 300, 500), shared(50, 110, 200, 165, 260)


def verdict(band):
    raw = {("fast", t): FAST[:, k] for k, t in enumerate(TASKS)}
    raw |= {("slow", t): SLOW[:, k] for k, t in enumerate(TASKS)}
    observations = Observations(
        direction="max",
        tasks=TASKS,
        raw=raw,
        configs={cell: {} for cell in raw},
        task_configs={t: {} for t in TASKS},
        normalize={},
    )
    evidence = band.compare(observations)
    findings = find(evidence, intervals=True, together=ALPHA)
    return combine(evidence, [finding.true for finding in findings])


def test_its_interval_is_at_least_students_over_the_tasks_ratios():
    ratios = SLOW[0] / FAST[0]
    measured = OverTasks.ratios(SLOW, FAST, "mean")
    low, high = measured.interval(0.05)
    expected = stats.t.interval(0.95, 4, ratios.mean(), stats.sem(ratios))
    assert measured.estimate == pytest.approx(ratios.mean())
    assert low <= expected[0] * (1 + 1e-9)
    assert high >= expected[1] * (1 - 1e-9)
    assert high - low < 2 * (expected[1] - expected[0])
    assert measured.runs == 50


def test_more_runs_of_the_same_clocks_tell_no_more():
    few, many = (OverTasks.values(np.repeat(SLOW, n, axis=0), "mean") for n in (1, 20))
    assert few.interval(0.05) == many.interval(0.05) == few.interval(0.05, seeds=1_000)


def test_runs_that_share_a_clock_decide_by_their_tasks_and_not_by_themselves():
    claim = {"metric": "speed", "method": "slow", "ratio_to": ("fast",)}
    wide = Band(**claim, low=0.4, high=0.65, over="tasks")
    assert verdict(wide) is Verdict.HOLDS
    assert verdict(Band(**claim, value=0.9, tolerance=0.05, over="tasks")) is Verdict.DOES_NOT_HOLD
    assert verdict(Band(**claim, low=0.52, high=0.65, over="tasks")) is Verdict.UNDECIDED
    assert verdict(Band(**claim, low=0.4, high=0.65)) is Verdict.UNDECIDED


def test_intervals_over_five_tasks_cover_what_they_say():
    # 2,000 repetitions: the standard error of a coverage of 0.95 is 0.5 %; four of them below
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(2_000):
        factors = np.exp(generator.normal(0, 0.1, size=5))
        low, high = OverTasks.ratios(FAST * factors * 0.5, FAST, "mean").interval(0.05)
        hits += low < 0.5 * np.exp(0.005) < high
    assert hits / 2_000 > 0.95 - 4 * 0.005


@pytest.mark.parametrize("key", ["per_task", "exact", "normalized"])
def test_a_key_that_contradicts_it_is_refused(key):
    with pytest.raises(ValueError, match="all tasks together"):
        Band(metric="speed", method="slow", high=1.0, over="tasks", **{key: True})


def test_two_tasks_are_too_few():
    band = Band(metric="speed", method="slow", high=1.0, over="tasks")
    with pytest.raises(ValueError, match="needs 3 tasks, got 2"):
        band.check(["a", "b"], ())
