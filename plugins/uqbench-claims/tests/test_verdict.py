"""Verdicts: Holm's levels, counted groups, error rates over simulated scores, seeds that decide."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from uqbench_claims.decision import combine, find, seeds_needed
from uqbench_claims.kinds.band import Band
from uqbench_claims.kinds.order import Order
from uqbench_claims.kinds.share import Share as ShareClaim
from uqbench_claims.verdict import Verdict, verdict

from uqbench.claim import Comparison, Evidence, Observations, Region
from uqbench.statistics.bounded import SHARE
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.ranks import compare
from uqbench.suites import NormalizationConstants

SIMULATIONS = 1_000


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


def comparison(group=""):
    return Comparison("", "", FromP(0.0), Region(low=0.0), group)


@pytest.mark.parametrize(
    ("at_least", "true", "decided"),
    [
        (None, (True, True, True), True),
        (None, (True, None, True), None),
        (None, (True, None, False), False),
        (2, (True, False, True), True),
        (2, (True, False, None), None),
        (2, (False, False, True), False),
    ],
)
def test_groups_are_counted(at_least, true, decided):
    evidence = Evidence(tuple(comparison(group) for group in "abc"), at_least)
    assert combine(evidence, true) is decided


def test_a_group_is_true_where_all_its_comparisons_are():
    evidence = Evidence((comparison("a"), comparison("a"), comparison("b")), at_least=1)
    assert combine(evidence, [True, False, False]) is False
    assert combine(evidence, [True, True, None]) is True
    assert combine(evidence, [True, None, False]) is None


def observe(values, margin=None):
    """Observations of ``{method: [runs, tasks]}``, with settings 1, 2, … of the methods."""
    tasks = tuple(f"task-{t}" for t in range(next(iter(values.values())).shape[1]))
    cells = {(m, t): v[:, i] for m, v in values.items() for i, t in enumerate(tasks)}
    settings = {m: {"size": i} for i, m in enumerate(values)}
    return Observations(
        direction="max",
        tasks=tasks,
        raw=cells,
        configs={(m, t): settings[m] for m, t in cells},
        task_configs={},
        normalize={task: NormalizationConstants(zero=0.0, one=1.0).normalize for task in tasks},
        margin=margin,
    )


def rates(kind, draw, simulations=SIMULATIONS):
    """How often the claim holds and does not, over simulated scores."""
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(simulations):
        evidence = kind.compare(observe(draw()))
        counts[verdict(evidence, find(evidence, intervals=True))] += 1
    return counts[Verdict.HOLDS] / simulations, counts[Verdict.DOES_NOT_HOLD] / simulations


DISTRIBUTIONS = {
    "normal": lambda g, size: g.normal(size=size),
    "exponential": lambda g, size: g.exponential(size=size),
    "ties": lambda g, size: g.integers(2, size=size).astype(float),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize(("seeds", "tasks"), [(3, 1), (3, 2), (5, 1), (10, 1)])
def test_where_nothing_differs_an_order_holds_in_5_percent_at_most(distribution, seeds, tasks):
    generator = np.random.default_rng(8)
    kind = Order(metric="m", methods=("a", "b"))
    found = rates(
        kind, lambda: {m: DISTRIBUTIONS[distribution](generator, (seeds, tasks)) for m in "ab"}
    )
    assert max(found) <= 0.05
    assert sum(found) > 0 or (seeds, tasks) == (3, 1)  # which cannot be decided at all


def test_several_comparisons_do_not_add_up_to_more_errors():
    generator = np.random.default_rng(9)
    kind = Order(metric="m", methods=("a", ("b", "c", "d")))
    found = rates(kind, lambda: {m: generator.normal(size=(5, 1)) for m in "abcd"})
    assert max(found) <= 0.05


def test_spreads_that_differ_do_not_make_an_order():
    generator = np.random.default_rng(10)
    kind = Order(metric="m", methods=("a", "b"))
    draw = lambda: {"a": 3 * generator.normal(size=(10, 1)), "b": generator.normal(size=(10, 1))}  # noqa: E731
    assert max(rates(kind, draw)) <= 0.05


@pytest.mark.parametrize("by", ["iqm", "median", "mean"])
def test_where_nothing_differs_a_difference_of_scores_holds_in_5_percent_at_most(by):
    generator = np.random.default_rng(11)
    kind = Order(metric="m", methods=("a", "b"), by=by)
    found = rates(kind, lambda: {m: generator.exponential(size=(3, 2)) for m in "ab"})
    assert max(found) <= 0.05


@pytest.mark.parametrize("seeds", [3, 10])
def test_at_the_edge_of_a_band_it_holds_in_5_percent_at_most(seeds):
    generator = np.random.default_rng(13)
    draw = lambda: {m: 5 + generator.normal(size=(seeds, 1)) for m in "ab"}  # noqa: E731
    assert rates(Band(metric="m", method="a", high=5.0), draw)[0] <= 0.05
    assert rates(Band(metric="m", method="a", ratio_to="b", low=1.0), draw)[0] <= 0.05


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_where_neither_is_better_a_share_of_half_is_exceeded_in_5_percent_at_most(seeds):
    generator = np.random.default_rng(14)
    kind = ShareClaim(metric="m", method="a", better_than="b", at_least=0.5)
    found = rates(kind, lambda: {m: generator.integers(4, size=(seeds, 1)) for m in "ab"})
    assert max(found) <= 0.05


def test_what_is_true_is_found():
    """Two standard deviations apart, ten seeds; and the reverse claim is refuted."""
    generator = np.random.default_rng(15)
    draw = lambda: {m: i * 2 + generator.normal(size=(10, 1)) for i, m in enumerate("abc")}  # noqa: E731
    order = {"metric": "m", "methods": ("c", "b", "a")}
    assert rates(Order(**order), draw, 200)[0] > 0.9
    assert rates(Order(**order | {"methods": ("a", "b", "c")}), draw, 200)[1] > 0.9
    assert rates(Band(metric="m", method="b", value=2.0, tolerance=1.5), draw, 200)[0] > 0.8
    assert rates(Band(metric="m", method="b", value=5.0, tolerance=1.5), draw, 200)[1] > 0.9
    share = {"metric": "m", "method": "c", "better_than": ("a", "b")}
    assert rates(ShareClaim(**share, at_least=0.5), draw, 200)[0] > 0.8
    assert (
        rates(ShareClaim(**share | {"method": "a", "better_than": "c"}, at_least=0.5), draw, 200)[1]
        > 0.8
    )


def test_a_published_number_may_be_off_by_twice_its_error_and_the_runs_own_together():
    values = np.tile([0.9, 1.3], 5)[:, None]  # symmetric: Student's interval
    kind = Band(metric="m", method="a", value={"task-0": 1.0}, error={"task-0": 0.05})
    (comparison,) = kind.compare(observe({"a": values})).comparisons
    own = stats.t.ppf(0.975, 9) * stats.sem(values[:, 0])
    away = math.sqrt((2 * 0.05) ** 2 + own**2)
    assert (comparison.region.low, comparison.region.high) == pytest.approx((1 - away, 1 + away))


@pytest.mark.parametrize("by", ["mean", "improvement"])
def test_a_difference_within_the_margin_is_equal_and_one_beyond_it_is_not(by):
    generator = np.random.default_rng(32)
    kind = Order(metric="m", methods=("a", "b"), by=by)
    noise = 0.1 * generator.normal(size=(20, 1))
    for shift, expected in (
        (0.0, Verdict.DOES_NOT_HOLD),
        (2.0, Verdict.HOLDS),
        (-2.0, Verdict.DOES_NOT_HOLD),
    ):
        values = {"a": shift + noise, "b": 0.1 * generator.normal(size=(20, 1))}
        evidence = kind.compare(observe(values, margin=0.2))
        assert verdict(evidence, find(evidence, intervals=True)) is expected
        evidence = kind.compare(observe(values))
        without = Verdict.OPEN if shift == 0.0 else expected
        assert verdict(evidence, find(evidence, intervals=True)) is without


def test_methods_a_margin_apart_are_called_equal_in_5_percent_at_most():
    """1,000 simulations with the difference at the margin: 65 are two standard errors above."""
    generator = np.random.default_rng(31)
    kind = Order(metric="m", methods=("a", "b"), by="mean")
    equal = 0
    for _ in range(1_000):
        values = {m: shift + generator.normal(size=(8, 2)) for m, shift in (("a", 1.0), ("b", 0.0))}
        (finding,) = find(kind.compare(observe(values, margin=1.0)), intervals=True)
        equal += finding.equal
    assert 0 < equal <= 65


def fails(generator, share, size):
    """Scores of mean 0.8 within [0, 1], of which so many fail."""
    good = np.where(generator.random(size) < share, 0.0, 0.8 / (1 - share))
    return np.clip(good + 0.02 * generator.normal(size=size) * (good > 0) * (good < 1), 0, 1)


@pytest.mark.parametrize("by_seeds", [False, True])
def test_an_order_by_mean_of_runs_that_may_fail_is_hardly_ever_wrong(by_seeds):
    """Equal means; one method fails one time in five, the other never. By Welch's or Student's
    interval one of them is called better in a fifth of 300 simulations."""
    generator = np.random.default_rng(26)
    kind = Order(metric="m", methods=("a", "b"), by="mean")
    wrong = {0.0: 0, None: 0}
    for _ in range(300):
        values = {m: fails(generator, s, (8, 1)) for m, s in (("a", 0.2), ("b", 0.0))}
        for beyond in wrong:
            seen = observe(values)
            ranges = {} if beyond is None else dict.fromkeys(seen.tasks, SHARE)
            observed = replace(seen, paired=by_seeds, ranges=ranges)
            wrong[beyond] += find(kind.compare(observed), intervals=True)[0].true is not None
    assert wrong[0.0] <= 15 < 45 < wrong[None]


def test_an_order_by_mean_and_a_board_compare_runs_that_may_fail_alike():
    generator = np.random.default_rng(27)
    values = {m: fails(generator, s, (30, 2)) for m, s in (("a", 0.1), ("b", 0.4))}
    kind = Order(metric="m", methods=("a", "b"), by="mean")
    for by_seeds in (False, True):
        (pair,) = compare(values, "mean", paired=by_seeds, ranges=[SHARE] * 2)
        seen = observe(values)
        given = replace(seen, paired=by_seeds, ranges=dict.fromkeys(seen.tasks, SHARE))
        (comparison,) = kind.compare(given).comparisons
        found = comparison.measured.interval(0.05)
        assert (pair.difference.low, pair.difference.high) == found
        assert comparison.difference.interval(0.05) == found
    ranges = dict.fromkeys(seen.tasks, SHARE)
    raw = replace(seen, normalize={}, direction="min", ranges=ranges)
    (comparison,) = (
        replace(kind, tasks=("task-0",)).compare(replace(raw, tasks=("task-0",))).comparisons
    )
    assert comparison.measured.estimate == pytest.approx((values["b"] - values["a"])[:, 0].mean())


def test_with_the_seeds_that_are_needed_four_of_five_repetitions_are_decided():
    """At the estimates that were seen; 1,000 simulations, standard error 1.3 points."""
    values = 1.0 + np.random.default_rng(17).normal(size=(8, 1))
    kind = Band(metric="m", method="a", low=0.0)
    evidence = kind.compare(observe({"a": values}))
    findings = find(evidence, intervals=True)
    needed = seeds_needed(evidence, findings, 8)
    generator = np.random.default_rng(18)
    mean, deviation = values.mean(), values.std(ddof=1)
    draw = lambda: {"a": generator.normal(mean, deviation, size=(needed.seeds, 1))}  # noqa: E731
    assert 0.74 < rates(kind, draw, 1_000)[0] < 0.88
    assert needed.low < needed.seeds < needed.high


def test_the_chance_that_seeds_decide_is_averaged_over_the_error_of_todays_estimates():
    """True means are drawn from what today's runs say of them, then runs: 2,000 simulations,
    standard error 1.1 points. Four standard errors, as the interval of eight seeds is Student's."""
    values = 1.0 + np.random.default_rng(17).normal(size=(8, 1))
    kind = Band(metric="m", method="a", low=0.0)
    evidence = kind.compare(observe({"a": values}))
    needed = seeds_needed(evidence, find(evidence, intervals=True), 8)
    generator, deviation = np.random.default_rng(19), values.std(ddof=1)

    def draw():
        true = values.mean() + generator.standard_t(7) * deviation / np.sqrt(8)
        return {"a": generator.normal(true, deviation, size=(needed.seeds, 1))}

    holds, fails = rates(kind, draw, 2_000)
    assert needed.chance == pytest.approx(holds + fails, abs=0.045)
    assert needed.chance < 0.75


def test_an_estimate_on_the_boundary_is_decided_by_no_number_of_seeds():
    a, b = (np.array(v, dtype=float)[:, None] for v in ([1, 2, 3, 4], [1, 2, 3, 4]))
    evidence = Order(metric="m", methods=("a", "b")).compare(observe({"a": a, "b": b}))
    assert seeds_needed(evidence, find(evidence, intervals=True), 4).seeds is None


def test_near_the_boundary_few_seeds_may_decide_and_no_number_may():
    values = np.linspace(-1.0, 1.2, 8)[:, None]
    evidence = Band(metric="m", method="a", low=0.0).compare(observe({"a": values}))
    needed = seeds_needed(evidence, find(evidence, intervals=True), 8)
    assert needed.low < needed.seeds
    assert needed.high is None


@pytest.mark.parametrize(
    ("kind", "seeds", "tasks", "paired"),
    [
        (Order(metric="m", methods=("a", "b")), 3, 1, False),
        (Order(metric="m", methods=("a", "b"), per_task=True), 3, 57, False),
        (Order(metric="m", methods=("a", "b")), 5, 1, True),
        (Order(metric="m", methods=("a", "b")), 5, 9, True),
        (ShareClaim(metric="m", method="a", better_than="b", at_least=0.5), 5, 1, False),
        (Band(metric="m", method="a", low=0.0), 2, 1, False),
    ],
)
def test_claims_that_no_runs_of_a_budget_could_decide_are_told_and_indeed_never_are(
    kind, seeds, tasks, paired
):
    names = [f"t{t}" for t in range(tasks)]
    with pytest.raises(ValueError, match="can never decide it"):
        kind.check_seeds(seeds, names, paired=paired)
    if seeds >= 3:
        best = {m: np.full((seeds, tasks), i) + np.arange(seeds)[:, None] / 100.0
                for m, i in (("a", 5.0), ("b", 0.0), ("c", 9.0))}  # fmt: skip
        evidence = kind.compare(
            replace(observe({m: best[m] for m in kind.named_methods}), paired=paired)
        )
        found = [f.true for f in find(evidence, intervals=True)]
        assert combine(evidence, found) is None
    kind.check_seeds(4 * seeds, names, paired=paired)
