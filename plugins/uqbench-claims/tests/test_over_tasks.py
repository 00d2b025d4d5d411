"""Claims in which a task is one observation."""

import numpy as np
import pytest
from scipy import stats
from uqbench_claims.decision import combine, find
from uqbench_claims.judge import judge
from uqbench_claims.kinds.band import Band, OverTasks
from uqbench_claims.verdict import Verdict

from uqbench.boards import Score
from uqbench.claim import CannotCompareError, Observations
from uqbench.registry import Host
from uqbench.suites import Claim, make_plan, read_suites

TASKS = ("a", "b", "c", "d", "e")


def shared(*speeds):
    """Steps per second, ``[5 runs, tasks]``, of which all runs of a task share theirs."""
    return np.tile(np.array(speeds, dtype=float), (5, 1))


FAST, SLOW = shared(100, 200, 400, 300, 500), shared(50, 110, 200, 165, 260)


def verdict(band, *, shared=True, tasks=TASKS):
    raw = {("fast", t): FAST[:, k] for k, t in enumerate(TASKS)}
    raw |= {("slow", t): SLOW[:, k] for k, t in enumerate(TASKS)}
    observations = Observations(
        direction="max",
        tasks=tasks,
        raw=raw,
        configs={cell: {} for cell in raw},
        task_configs={t: {} for t in TASKS},
        normalize={},
        shared=shared,
    )
    evidence = band.compare(observations)
    findings = find(evidence, intervals=True)
    return combine(evidence, [finding.true for finding in findings])


def test_its_interval_is_at_least_students_over_the_tasks_ratios():
    ratios = SLOW[0] / FAST[0]
    measured = OverTasks.of_runs(SLOW, FAST)
    low, high = measured.interval(0.05)
    expected = stats.t.interval(0.95, 4, ratios.mean(), stats.sem(ratios))
    assert measured.estimate == pytest.approx(ratios.mean())
    assert low <= expected[0] * (1 + 1e-9)
    assert high >= expected[1] * (1 - 1e-9)
    assert high - low < 2 * (expected[1] - expected[0])
    assert measured.runs == 50


def test_more_runs_of_the_same_clocks_tell_no_more():
    few, many = (OverTasks.of_runs(np.repeat(SLOW, n, axis=0)) for n in (1, 20))
    assert few.interval(0.05) == many.interval(0.05) == few.interval(0.05, seeds=1_000)


def test_runs_that_share_a_clock_decide_by_their_tasks_and_not_by_themselves():
    claim = {"metric": "speed", "method": "slow", "ratio_to": ("fast",)}
    wide = Band(**claim, low=0.4, high=0.65)
    assert verdict(wide) is True
    assert verdict(Band(**claim, value=0.9, tolerance=0.05)) is False
    assert verdict(Band(**claim, low=0.52, high=0.65)) is None
    assert verdict(Band(**claim, low=0.4, high=0.65), shared=False) is None


def test_intervals_over_five_tasks_cover_what_they_say():
    # 2,000 repetitions: the standard error of a coverage of 0.95 is 0.5 %; four of them below
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(2_000):
        factors = np.exp(generator.normal(0, 0.1, size=5))
        low, high = OverTasks.of_runs(FAST * factors * 0.5, FAST).interval(0.05)
        hits += low < 0.5 * np.exp(0.005) < high
    assert hits / 2_000 > 0.95 - 4 * 0.005


def test_two_tasks_are_too_few():
    with pytest.raises(CannotCompareError, match="2 of the 3"):
        verdict(Band(metric="speed", method="slow", high=1.0), tasks=TASKS[:2])


@pytest.mark.parametrize("metric", ["steps_per_s", "online_return"])
def test_of_a_suites_claims_those_about_costs_count_tasks(metric):
    host = Host.load()
    suite = read_suites(host, check=()).suite("minatar")
    (claim,) = (claim for claim in suite.claims if claim.id == "ube-cost")
    claim = Claim.model_validate(claim.model_dump() | {"metric": metric})
    metrics = tuple(m.model_copy(update={"may_fail": {}}) for m in suite.metrics)
    suite = suite.model_copy(update={"metrics": metrics})  # as of any numbers
    plan = make_plan(
        suite.model_copy(update={"claims": (claim,)}), host, "paper", device="cpu",
        methods=["dqn", "ube-dqn"],
    )  # fmt: skip
    values = {(m, t): v for m, row in (("dqn", FAST[0]), ("ube-dqn", SLOW[0]))
              for t, v in zip((task.name for task in suite.tasks), row, strict=True)}  # fmt: skip
    scores = [
        Score(run.task, run.method, run.seed, "finished", "cpu", 0.0,
              {metric: float(values[run.method, run.task])}, str(run.folder), "0" * 64, "")
        for run in plan.runs
    ]  # fmt: skip
    (judgement,) = judge(plan, scores)
    decided = judgement.verdict is Verdict.DOES_NOT_HOLD  # the claim gives a published number
    assert decided == (metric == "steps_per_s")
