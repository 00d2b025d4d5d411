"""Verdicts: Holm's levels, counted groups, error rates over simulated scores, seeds that decide.

Also intervals of ratios, and claims in which a task is one observation.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from uqbench_claims.decision import combine, find, seeds_needed
from uqbench_claims.judge import judge
from uqbench_claims.kinds.band import Band, OverTasks
from uqbench_claims.kinds.order import Order
from uqbench_claims.kinds.ratio import Ratio
from uqbench_claims.kinds.share import Share as ShareClaim
from uqbench_claims.verdict import Verdict, verdict

from uqbench.boards import Score
from uqbench.claim import CannotCompareError, Comparison, Evidence, Observations, Region
from uqbench.registry import Host
from uqbench.statistics.bounded import SHARE
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import location
from uqbench.statistics.ranks import compare
from uqbench.suites import Claim, NormalizationConstants, make_plan, read_suites

SIMULATIONS = 1_000
AB = Order(metric="m", methods=("a", "b"))


class FromP:
    """A measurement whose interval excludes 0 exactly where its p-value is at most the level."""

    estimate, runs = 1.0, 10

    def __init__(self, p):
        self.p = p

    def interval(self, alpha, seeds=None):
        return (0.1, 2.0) if self.p <= alpha else (-1.0, 2.0)


def test_the_levels_are_holms():
    generator = np.random.default_rng(7)
    for _ in range(200):
        p = generator.uniform(size=5) ** 4
        expected, order = [None] * 5, np.argsort(p)
        for rank, i in enumerate(order):
            if p[i] > ALPHA / (5 - rank):
                break
            expected[i] = True
        evidence = Evidence(tuple(Comparison("", "", FromP(v), Region(low=0.0)) for v in p))
        assert [finding.true for finding in find(evidence, intervals=True)] == expected


COUNTED = [
    ("abc", None, (True, True, True), True), ("abc", None, (True, None, True), None),
    ("abc", None, (True, None, False), False), ("abc", 2, (True, False, True), True),
    ("abc", 2, (True, False, None), None), ("abc", 2, (False, False, True), False),
    ("aab", 1, (True, False, False), False), ("aab", 1, (True, True, None), True),
    ("aab", 1, (True, None, False), None),
]  # fmt: skip


@pytest.mark.parametrize(("groups", "at_least", "true", "decided"), COUNTED)
def test_groups_whose_comparisons_are_all_true_are_counted(groups, at_least, true, decided):
    compared = [Comparison("", "", FromP(0.0), Region(low=0.0), group) for group in groups]
    assert combine(Evidence(tuple(compared), at_least), true) is decided


def observe(values, margin=None, **more):
    """Observations of ``{method: [runs, tasks]}``, with settings 1, 2, … of the methods."""
    tasks = tuple(f"task-{t}" for t in range(next(iter(values.values())).shape[1]))
    cells = {(m, t): v[:, i] for m, v in values.items() for i, t in enumerate(tasks)}
    settings = {m: {"size": i} for i, m in enumerate(values)}
    configs = {(m, t): settings[m] for m, t in cells}
    unit = NormalizationConstants(zero=0.0, one=1.0).normalize
    given = Observations("max", tasks, cells, configs, {}, dict.fromkeys(tasks, unit))
    return replace(given, margin=margin, **more)


def decided(kind, observations):
    """The verdict on a claim."""
    evidence = kind.compare(observations)
    return verdict(evidence, find(evidence, intervals=True))


def rates(kind, draw, simulations=SIMULATIONS):
    """How often the claim holds and does not, over simulated scores."""
    found = [decided(kind, observe(draw())) for _ in range(simulations)]
    return tuple(found.count(of) / simulations for of in (Verdict.HOLDS, Verdict.DOES_NOT_HOLD))


DISTRIBUTIONS = {
    "normal": lambda g, size: g.normal(size=size),
    "exponential": lambda g, size: g.exponential(size=size),
    "ties": lambda g, size: g.integers(2, size=size).astype(float),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("seeds", "tasks"), [(3, 1), (3, 2), (5, 1), (10, 1)])
def test_where_nothing_differs_an_order_holds_in_5_percent_at_most(distribution, seeds, tasks):
    generator, drawn = np.random.default_rng(8), DISTRIBUTIONS[distribution]
    found = rates(AB, lambda: {m: drawn(generator, (seeds, tasks)) for m in "ab"})
    assert max(found) <= 0.05
    assert sum(found) > 0 or (seeds, tasks) == (3, 1)  # which cannot be decided at all


HALF = ShareClaim(metric="m", method="a", better_than="b", at_least=0.5)
EQUAL = {
    "several comparisons": (
        9, replace(AB, methods=("a", ("b", "c", "d"))),
        lambda g: {m: g.normal(size=(5, 1)) for m in "abcd"},
    ),
    "spreads that differ": (
        10, AB, lambda g: {"a": 3 * g.normal(size=(10, 1)), "b": g.normal(size=(10, 1))}
    ),
    **{by: (11, replace(AB, by=by), lambda g: {m: g.exponential(size=(3, 2)) for m in "ab"})
       for by in ("iqm", "median", "mean")},
    **{f"half of {n}": (14, HALF, lambda g, n=n: {m: g.integers(4, size=(n, 1)) for m in "ab"})
       for n in (3, 5, 10)},
}  # fmt: skip


@pytest.mark.parametrize("case", EQUAL)
def test_where_no_method_is_better_a_claim_is_decided_in_5_percent_at_most(case):
    seed, kind, draw = EQUAL[case]
    generator = np.random.default_rng(seed)
    assert max(rates(kind, lambda: draw(generator))) <= 0.05


@pytest.mark.parametrize("seeds", [3, 10])
def test_at_the_edge_of_a_band_it_holds_in_5_percent_at_most(seeds):
    generator = np.random.default_rng(13)
    draw = lambda: {m: 5 + generator.normal(size=(seeds, 1)) for m in "ab"}  # noqa: E731
    assert rates(Band(metric="m", method="a", high=5.0), draw)[0] <= 0.05
    assert rates(Band(metric="m", method="a", ratio_to="b", low=1.0), draw)[0] <= 0.05


TRUE = [
    (replace(AB, methods=("c", "b", "a")), True, 0.9),
    (replace(AB, methods=("a", "b", "c")), False, 0.9),
    (Band(metric="m", method="b", value=2.0, tolerance=1.5), True, 0.8),
    (Band(metric="m", method="b", value=5.0, tolerance=1.5), False, 0.9),
    (replace(HALF, method="c", better_than=("a", "b")), True, 0.8),
    (replace(HALF, better_than="c"), False, 0.8),
]


@pytest.mark.parametrize(("kind", "holds", "least"), TRUE)
def test_what_is_true_is_found(kind, holds, least):
    """Two standard deviations apart, ten seeds; and the reverse claim is refuted."""
    generator = np.random.default_rng(15)
    draw = lambda: {m: i * 2 + generator.normal(size=(10, 1)) for i, m in enumerate("abc")}  # noqa: E731
    assert rates(kind, draw, 200)[0 if holds else 1] > least


def test_a_published_number_may_be_off_by_twice_its_error_and_the_runs_own_together():
    values = np.tile([0.9, 1.3], 5)[:, None]  # symmetric: Student's interval
    kind = Band(metric="m", method="a", value={"task-0": 1.0}, error={"task-0": 0.05})
    (comparison,) = kind.compare(observe({"a": values})).comparisons
    own = stats.t.ppf(0.975, 9) * stats.sem(values[:, 0])
    away = math.sqrt((2 * 0.05) ** 2 + own**2)
    assert (comparison.region.low, comparison.region.high) == pytest.approx((1 - away, 1 + away))


@pytest.mark.parametrize("by", ["mean", "improvement"])
@pytest.mark.parametrize(("shift", "expected"), [(0.0, False), (2.0, True), (-2.0, False)])
def test_a_difference_within_the_margin_is_equal_and_one_beyond_it_is_not(by, shift, expected):
    generator, kind = np.random.default_rng(32), replace(AB, by=by)
    a, b = 0.1 * generator.normal(size=(2, 20, 1))
    values = {"a": shift + a, "b": b}
    holds = Verdict.HOLDS if expected else Verdict.DOES_NOT_HOLD
    assert decided(kind, observe(values, margin=0.2)) is holds
    assert decided(kind, observe(values)) is (holds if shift else Verdict.OPEN)


def test_methods_a_margin_apart_are_called_equal_in_5_percent_at_most():
    """1,000 simulations with the difference at the margin: 65 are two standard errors above."""
    generator = np.random.default_rng(31)
    kind, equal = replace(AB, by="mean"), 0
    for _ in range(1_000):
        values = {m: shift + generator.normal(size=(8, 2)) for m, shift in (("a", 1.0), ("b", 0.0))}
        (finding,) = find(kind.compare(observe(values, margin=1.0)), intervals=True)
        equal += finding.equal
    assert 0 < equal <= 65


def fails(generator, share, size):
    """Scores of mean 0.8 within [0, 1], of which so many fail."""
    good = np.where(generator.random(size) < share, 0.0, 0.8 / (1 - share))
    return np.clip(good + 0.02 * generator.normal(size=size) * (good > 0) * (good < 1), 0, 1)


@pytest.mark.parametrize("paired", ["", "seeds"])
def test_an_order_by_mean_of_runs_that_may_fail_is_hardly_ever_wrong(paired):
    """Equal means; one method fails one time in five, the other never. By Welch's or Student's
    interval one of them is called better in a fifth of 300 simulations."""
    generator = np.random.default_rng(26)
    known, unknown = {"task-0": SHARE}, {}
    wrong = [0, 0]
    for _ in range(300):
        values = {m: fails(generator, s, (8, 1)) for m, s in (("a", 0.2), ("b", 0.0))}
        for k, ranges in enumerate((known, unknown)):
            seen = observe(values, paired=paired, ranges=ranges)
            wrong[k] += decided(replace(AB, by="mean"), seen) is not Verdict.OPEN
    assert wrong[0] <= 15 < 45 < wrong[1]


def test_an_order_by_mean_and_a_board_compare_runs_that_may_fail_alike():
    generator = np.random.default_rng(27)
    values = {m: fails(generator, s, (30, 2)) for m, s in (("a", 0.1), ("b", 0.4))}
    kind, ranges = replace(AB, by="mean"), dict.fromkeys(("task-0", "task-1"), SHARE)
    for paired in ("", "seeds", "runs"):
        (pair,) = compare(values, "mean", paired=paired, ranges=[SHARE] * 2)
        (comparison,) = kind.compare(observe(values, paired=paired, ranges=ranges)).comparisons
        found = comparison.measured.interval(0.05)
        assert (pair.difference.low, pair.difference.high) == found
        assert comparison.difference.interval(0.05) == found
    raw = observe(values, normalize={}, direction="min", ranges=ranges, tasks=("task-0",))
    (comparison,) = replace(kind, tasks=("task-0",)).compare(raw).comparisons
    assert comparison.measured.estimate == pytest.approx((values["b"] - values["a"])[:, 0].mean())


def test_seeds_that_are_needed_decide_as_often_as_is_said():
    """At the estimates that were seen four times in five: 1,000 simulations, se 1.3 points.

    The chance is averaged over the error of today's estimates: true means are drawn from what
    today's runs say of them, then runs: 2,000 simulations, standard error 1.1 points. Four standard
    errors, as the interval of eight seeds is Student's.
    """
    values = 1.0 + np.random.default_rng(17).normal(size=(8, 1))
    kind = Band(metric="m", method="a", low=0.0)
    evidence = kind.compare(observe({"a": values}))
    needed = seeds_needed(evidence, find(evidence, intervals=True), 8)
    assert needed.low < needed.seeds < needed.high
    generator, deviation = np.random.default_rng(18), values.std(ddof=1)

    def draw(known=False):
        true = values.mean()
        if not known:
            true += generator.standard_t(7) * deviation / np.sqrt(8)
        return {"a": generator.normal(true, deviation, size=(needed.seeds, 1))}

    assert 0.74 < rates(kind, lambda: draw(known=True), 1_000)[0] < 0.88
    assert needed.chance == pytest.approx(sum(rates(kind, draw, 2_000)), abs=0.045)
    assert needed.chance < 0.75


def test_an_estimate_on_the_boundary_is_decided_by_no_number_of_seeds():
    same = np.arange(1.0, 5.0)[:, None]
    evidence = AB.compare(observe({"a": same, "b": same}))
    assert seeds_needed(evidence, find(evidence, intervals=True), 4).seeds is None


def test_near_the_boundary_few_seeds_may_decide_and_no_number_may():
    values = np.linspace(-1.0, 1.2, 8)[:, None]
    evidence = Band(metric="m", method="a", low=0.0).compare(observe({"a": values}))
    needed = seeds_needed(evidence, find(evidence, intervals=True), 8)
    assert needed.low < needed.seeds
    assert needed.high is None


UNDECIDABLE = [
    (AB, 3, 1, ""), (replace(AB, per_task=True), 3, 57, ""), (AB, 5, 1, "seeds"),
    (AB, 5, 9, "seeds"), (HALF, 5, 1, ""), (Band(metric="m", method="a", low=0.0), 2, 1, ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "seeds", "tasks", "paired"), UNDECIDABLE)
def test_claims_that_no_runs_could_decide_are_told_and_never_are(kind, seeds, tasks, paired):
    names = [f"t{t}" for t in range(tasks)]
    with pytest.raises(ValueError, match="can never decide it"):
        kind.check_seeds(seeds, names, paired=paired)
    if seeds >= 3:
        best = {m: np.full((seeds, tasks), i) + np.arange(seeds)[:, None] / 100.0
                for m, i in (("a", 5.0), ("b", 0.0), ("c", 9.0))}  # fmt: skip
        seen = observe({m: best[m] for m in kind.named_methods}, paired=paired)
        assert decided(kind, seen) is Verdict.OPEN
    kind.check_seeds(4 * seeds, names, paired=paired)


def test_fiellers_interval_holds_the_ratios_that_a_t_test_does_not_reject():
    generator = np.random.default_rng(5)
    a, b = (location(generator.normal(m, 1, (8, 2)), "mean") for m in (2, 4))
    ratio = Ratio(a, b)
    for r in ratio.interval(0.05):
        error = math.sqrt(a.variance + r**2 * b.variance)
        squares = [of.variance**2 / 7 for of in a.parts]
        squares += [(ratio.estimate**2 * of.variance) ** 2 / 7 for of in b.parts]
        degrees = (a.variance + ratio.estimate**2 * b.variance) ** 2 / sum(squares)
        p = 2 * stats.t.sf(abs(a.estimate - r * b.estimate) / error, degrees)
        assert p == pytest.approx(0.05)


def test_a_ratio_to_what_may_be_zero_is_unbounded():
    a, b = (location(np.array(v)[:, None], "mean") for v in ([5.0, 6.0, 7.0], [-1.0, 0.0, 2.0]))
    assert Ratio(a, b).interval(0.05) == (-math.inf, math.inf)


def test_a_ratio_of_equal_runs_has_no_interval():
    equal = location(np.full((40, 2), 0.1), "mean")
    assert Ratio(equal, equal).interval(0.05) is None


def shared(*speeds):
    """Steps per second, ``[5 runs, tasks]``, of which all runs of a task share theirs."""
    return np.tile(np.array(speeds, dtype=float), (5, 1))


FAST, SLOW = shared(100, 200, 400, 300, 500), shared(50, 110, 200, 165, 260)


def test_its_interval_is_at_least_students_over_the_tasks_ratios():
    ratios, measured = SLOW[0] / FAST[0], OverTasks.of_runs(SLOW, FAST)
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


BANDS = [
    ({"low": 0.4, "high": 0.65}, True, Verdict.HOLDS),
    ({"value": 0.9, "tolerance": 0.05}, True, Verdict.DOES_NOT_HOLD),
    ({"low": 0.52, "high": 0.65}, True, Verdict.OPEN),
    ({"low": 0.4, "high": 0.65}, False, Verdict.OPEN),
]


@pytest.mark.parametrize(("band", "by_task", "expected"), BANDS)
def test_runs_that_share_a_clock_decide_by_their_tasks_alone(band, by_task, expected):
    kind = Band(metric="speed", method="slow", ratio_to=("fast",), **band)
    assert decided(kind, observe({"fast": FAST, "slow": SLOW}, shared=by_task)) is expected


def test_two_tasks_are_too_few():
    with pytest.raises(CannotCompareError, match="2 of the 3"):
        Band(metric="m", method="b", high=1.0).compare(observe({"b": SLOW[:, :2]}, shared=True))


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
        methods=["dqn", "ube-dqn"])  # fmt: skip
    values = {(m, t): v for m, row in (("dqn", FAST[0]), ("ube-dqn", SLOW[0]))
              for t, v in zip((task.name for task in suite.tasks), row, strict=True)}  # fmt: skip
    scores = [
        Score(run.task, run.method, run.seed, "finished", "cpu", 0.0,
              {metric: float(values[run.method, run.task])}, str(run.folder), "0" * 64, "")
        for run in plan.runs]  # fmt: skip
    (judgement,) = judge(plan, scores)
    decided = judgement.verdict is Verdict.DOES_NOT_HOLD  # the claim gives a published number
    assert decided == (metric == "steps_per_s")
