"""The intervals that verdicts rest on: exact facts, and error rates over simulated scores."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from uqbench.claim import Comparison, Evidence, Observations, Region
from uqbench.claims.band import Band
from uqbench.claims.order import Order
from uqbench.claims.share import Share
from uqbench.claims.trend import Trend
from uqbench.claims.verdict import Verdict, combine, find, seeds_needed
from uqbench.statistics import bootstrap
from uqbench.statistics import concordance as ranks
from uqbench.statistics import location as locations
from uqbench.statistics.aggregate import probability_of_improvement
from uqbench.statistics.bounded import BoundedDifference, BoundedMean, BoundedRatio
from uqbench.statistics.concordance import concordance, exchangeable_variance
from uqbench.statistics.estimate import Failures
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import Difference, Ratio, Value, location
from uqbench.statistics.paired import PairedDifference
from uqbench.statistics.proportion import Proportion
from uqbench.statistics.ranks import compare, decidable
from uqbench.statistics.statistic import batched
from uqbench.suites.metrics import NormalizationConstants

SIMULATIONS = 1_000


# -- concordance ----------------------------------------------------------------------------------


def groups(*values):
    return [np.array(group, dtype=float) for group in values]


def test_of_two_groups_it_is_rliables_probability_of_improvement_with_ties():
    generator = np.random.default_rng(0)
    x, y = generator.integers(5, size=(7, 3)), generator.integers(4, size=(6, 3))
    expected = probability_of_improvement(x, y, seed=0, repetitions=1).value
    assert concordance([groups(b, a) for a, b in zip(x.T, y.T, strict=True)]).estimate == expected


def test_estimate_and_variance_are_those_of_all_pairs_counted_one_by_one():
    generator = np.random.default_rng(1)
    tasks = [[generator.integers(6, size=n) for n in (4, 3, 5)] for _ in range(2)]
    estimates, variances = [], []
    for task in tasks:
        runs = [(g, value) for g, group in enumerate(task) for value in group]
        own = [
            sum(0.5 * (1 + np.sign((v - w) * (g - h))) for h, w in runs if h != g) for g, v in runs
        ]
        pairs = 4 * 3 + 4 * 5 + 3 * 5
        estimates.append(sum(own) / 2 / pairs)
        parts = [[o for o, (g, _) in zip(own, runs, strict=True) if g == k] for k in range(3)]
        variances.append(sum(len(p) * np.var(p, ddof=1) for p in parts) / pairs**2)
    found = concordance(tasks)
    assert found.estimate == pytest.approx(np.mean(estimates), abs=1e-12)
    assert found.variance == pytest.approx(np.sum(variances) / 4, abs=1e-12)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (2, 2, 3)])
def test_the_exchangeable_variance_is_that_of_all_permutations(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    shares = [
        concordance([[np.flatnonzero(np.array(order) == g) for g in range(len(sizes))]]).estimate
        for order in set(permutations(labels.tolist()))
    ]
    assert np.mean(shares) == pytest.approx(0.5)
    assert np.var(shares) == pytest.approx(exchangeable_variance((sizes,)))


def apart(n: int, tasks: int = 1):
    """Groups of n runs that do not overlap."""
    return concordance([groups(np.arange(n), 10 + np.arange(n))] * tasks)


@pytest.mark.parametrize(
    ("n", "tasks", "alpha", "decided"),
    [
        (3, 1, 0.05, False),  # p = 2/20
        (4, 1, 0.05, True),  # p = 2/70
        (4, 1, 0.05 / 2, False),
        (5, 1, 0.05 / 5, True),  # p = 2/252
        (5, 1, 0.05 / 7, False),
        (3, 2, 0.05, True),  # p = 2/400
        (3, 2, 0.05 / 11, False),
    ],
)
def test_a_half_is_outside_only_where_the_exact_permutation_test_rejects(n, tasks, alpha, decided):
    low, high = apart(n, tasks).interval(alpha)
    assert (low > 0.5) == decided
    assert high == 1.0
    mirrored = concordance([groups(10 + np.arange(n), np.arange(n))] * tasks)
    assert mirrored.interval(alpha) == pytest.approx((0.0, 1 - low))


def test_one_swap_more_or_less_decides_at_the_boundary():
    """Five runs each: the exact two-sided 5 % region is U <= 2 or U >= 23 of 25."""

    def shares(wins):  # of 25 pairs
        first, second = np.arange(5.0), 4.5 + np.arange(5.0)
        second[0] -= 25 - wins
        return concordance([groups(first, second)])

    assert shares(25).estimate == 1
    decided = {}
    for wins in (25, 24, 23, 22):
        found = shares(wins)
        assert found.estimate == wins / 25
        decided[wins] = found.interval(0.05)[0] > 0.5
    assert decided == {25: True, 24: True, 23: True, 22: False}


def test_drawn_permutations_agree_with_all_of_them(monkeypatch):
    layout = concordance([groups([1, 2, 2, 5], [2, 3, 4, 6])]).layout
    whole = ranks._permuted.__wrapped__(layout)
    assert len(whole) == math.comb(8, 4)
    monkeypatch.setattr(ranks, "_are_few", lambda sizes: False)
    drawn = ranks._permuted.__wrapped__(layout)
    assert len(drawn) == ranks.PERMUTATIONS + 1
    for quantile in (0.5, 0.8, 0.95):
        share = (drawn > np.quantile(whole, quantile, method="lower")).mean()
        assert share == pytest.approx((whole > np.quantile(whole, quantile, method="lower")).mean(),
                                      abs=0.02)  # fmt: skip


def test_where_too_few_permutations_were_drawn_for_the_level_nothing_is_excluded():
    assert apart(20).interval(0.05 / 1_000) == (0.0, 1.0)


def test_where_spreads_differ_the_interval_is_studentized():
    """One group far below or above the other: its runs are coins, and count as so many coins."""
    coins = concordance([groups(np.arange(10) / 10, [-10] * 3 + [10] * 7)])
    assert coins.estimate == 0.7
    assert coins.variance == pytest.approx(0.7 * 0.3 / 9)
    assert coins.variance > 4 * 0.7 * 0.3 * exchangeable_variance(((10, 10),))
    quantile = max(stats.norm.ppf(0.975), ranks.permutation_quantile(coins.layout, 0.05))
    low, _ = coins.interval(0.05)
    assert low == pytest.approx(0.7 - quantile * math.sqrt(coins.variance))
    assert low < 0.5 < quantile


def test_runs_that_are_all_equal_leave_it_open():
    found = concordance([groups([1, 1, 1, 1, 1], [1, 1, 1, 1, 1])])
    low, high = found.interval(0.05)
    assert found.estimate == 0.5
    assert low < 0.3
    assert high == pytest.approx(1 - low)


def test_intervals_do_not_depend_on_the_order_of_runs_and_are_repeatable():
    generator = np.random.default_rng(2)
    x, y = generator.normal(size=(2, 10))
    first = concordance([groups(x, y)]).interval(0.05)
    assert concordance([groups(x[::-1], np.roll(y, 3))]).interval(0.05) == first


# -- means, differences, ratios, shares -----------------------------------------------------------


def test_of_one_task_means_have_students_and_welchs_intervals():
    generator = np.random.default_rng(3)
    x, y = generator.normal(1, 1, (6, 1)), generator.normal(0, 3, (9, 1))
    value, difference = (
        Value(location(x, "mean")),
        Difference(*(location(v, "mean") for v in (x, y))),
    )
    expected = stats.ttest_1samp(x[:, 0], 0).confidence_interval(0.9)
    assert value.interval(0.1) == pytest.approx(expected)
    expected = stats.ttest_ind(x[:, 0], y[:, 0], equal_var=False).confidence_interval(0.95)
    assert difference.interval(0.05) == pytest.approx(expected)


def test_degrees_of_freedom_are_satterthwaites_over_the_tasks_of_both_methods():
    """All of them where the tasks spread alike, those of one task where the others do not vary."""
    alike = np.tile(np.array([0.0, 1.0, 2.0, 5.0])[:, None], 3)
    assert location(alike, "mean").degrees == pytest.approx(9)
    assert location(alike * [1, 0, 0], "mean").degrees == pytest.approx(3)
    assert location(alike, "mean", clustered=True).degrees == pytest.approx(3)
    a, b = location(alike, "mean"), location(alike[:, :1] / 3 + 1, "mean")
    variance = a.variance + b.variance
    degrees = variance**2 / (a.variance**2 / 9 + b.variance**2 / 3)
    p = 2 * stats.t.sf(abs(a.value - b.value) / math.sqrt(variance), degrees)
    assert Difference(a, b).p_value() == pytest.approx(p)
    for bound in Difference(a, b).interval(p):
        assert min(abs(bound), abs(bound - 2 * (a.value - b.value))) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("statistic", ["iqm", "median", "mean"])
def test_the_bootstraps_standard_error_is_that_of_the_statistic(statistic):
    """Against the spread of the statistic over fresh runs."""
    generator = np.random.default_rng(4)
    fresh = [location(generator.normal(size=(20, 3)), "mean").value for _ in range(2_000)]
    if statistic != "mean":
        fresh = [
            (locations_statistic(statistic))(generator.normal(size=(20, 3))) for _ in range(2_000)
        ]
    estimated = [location(generator.normal(size=(20, 3)), statistic).variance for _ in range(20)]
    assert np.mean(estimated) == pytest.approx(np.var(fresh), rel=0.2)


def locations_statistic(name):
    return lambda values: float(batched(name)(values[None])[0])


@pytest.mark.parametrize("statistic", ["mean", "iqm", "median"])
def test_tasks_that_share_their_data_sets_are_no_further_evidence(statistic):
    values = np.random.default_rng(0).normal(size=(12, 1))
    twice = values.repeat(2, axis=1)
    one = Value(location(values, statistic)).interval(0.05)
    assert Value(location(twice, statistic, clustered=True)).interval(0.05) == pytest.approx(one)
    apart = Value(location(twice, statistic)).interval(0.05)
    assert apart[1] - apart[0] < 0.9 * (one[1] - one[0])
    measured = location(twice, statistic, clustered=True)
    assert (measured.runs, measured.seeds) == (24, 12)


def test_fiellers_interval_holds_the_ratios_that_a_t_test_does_not_reject():
    generator = np.random.default_rng(5)
    a, b = (location(generator.normal(m, 1, (8, 2)), "mean") for m in (2, 4))
    ratio = Ratio(a, b)
    for r in ratio.interval(0.05):
        error = math.sqrt(a.variance + r**2 * b.variance)
        degrees = locations._welch(
            a, locations.Location(0, b.variance * ratio.estimate**2, b.seeds, b.runs, b.degrees)
        )
        p = 2 * stats.t.sf(abs(a.value - r * b.value) / error, degrees)
        assert p == pytest.approx(0.05)


def test_a_ratio_to_what_may_be_zero_is_unbounded():
    a, b = (location(np.array(v)[:, None], "mean") for v in ([5.0, 6.0, 7.0], [-1.0, 0.0, 2.0]))
    assert Ratio(a, b).interval(0.05) == (-math.inf, math.inf)


@pytest.mark.parametrize("statistic", ["mean", "iqm", "median"])
def test_runs_without_spread_have_the_interval_of_their_median_from_six_seeds_on(statistic):
    for seeds, tasks, known in ((5, 1, False), (6, 1, True), (6, 2, False), (7, 2, True)):
        equal = location(np.full((seeds, tasks), 0.1), statistic)
        assert equal.variance == 0.0
        expected = pytest.approx((0.1, 0.1)) if known else None
        assert Value(equal).interval(0.05) == expected
        assert Value(equal).interval(0.05 / 2**10) is None
    seven = location(np.full((7, 1), 0.1), statistic)
    assert Difference(seven, seven).interval(0.05) == pytest.approx((0.0, 0.0))
    assert Ratio(seven, seven).interval(0.05) == pytest.approx((1.0, 1.0))
    assert Ratio(seven, seven).interval(0.03) is None


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 5), (5, 5), (17, 20)])
def test_a_share_has_clopper_and_pearsons_interval(k, n):
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    assert Proportion(k, n, n, n).interval(0.05) == pytest.approx((expected.low, expected.high))


# -- Holm -----------------------------------------------------------------------------------------


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
    ("at_least", "true", "verdict"),
    [
        (None, (True, True, True), Verdict.HOLDS),
        (None, (True, None, True), Verdict.UNDECIDED),
        (None, (True, None, False), Verdict.DOES_NOT_HOLD),
        (2, (True, False, True), Verdict.HOLDS),
        (2, (True, False, None), Verdict.UNDECIDED),
        (2, (False, False, True), Verdict.DOES_NOT_HOLD),
    ],
)
def test_groups_are_counted(at_least, true, verdict):
    evidence = Evidence(tuple(comparison(group) for group in "abc"), at_least)
    assert combine(evidence, true) is verdict


def test_a_group_is_true_where_all_its_comparisons_are():
    evidence = Evidence((comparison("a"), comparison("a"), comparison("b")), at_least=1)
    assert combine(evidence, [True, False, False]) is Verdict.DOES_NOT_HOLD
    assert combine(evidence, [True, True, None]) is Verdict.HOLDS
    assert combine(evidence, [True, None, False]) is Verdict.UNDECIDED


# -- error rates ----------------------------------------------------------------------------------


def observe(values):
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
    )


def rates(kind, draw, simulations=SIMULATIONS):
    """How often the claim holds and does not, over simulated scores."""
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(simulations):
        evidence = kind.compare(observe(draw()))
        findings = find(evidence, intervals=True)
        counts[combine(evidence, [f.true for f in findings])] += 1
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
def test_where_nothing_differs_a_difference_of_scores_holds_in_5_percent_at_most(by, monkeypatch):
    monkeypatch.setattr(bootstrap, "RESAMPLES", 200)
    generator = np.random.default_rng(11)
    kind = Order(metric="m", methods=("a", "b"), by=by)
    found = rates(kind, lambda: {m: generator.exponential(size=(3, 2)) for m in "ab"})
    assert max(found) <= 0.05


@pytest.mark.parametrize("seeds", [3, 5])
def test_where_nothing_differs_there_is_a_trend_in_5_percent_at_most(seeds):
    generator = np.random.default_rng(12)
    kind = Trend(metric="m", methods=("a", "b", "c"), setting="size", direction="increasing")
    found = rates(kind, lambda: {m: generator.normal(size=(seeds, 1)) for m in "abc"})
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
    kind = Share(metric="m", method="a", better_than="b", at_least=0.5)
    found = rates(kind, lambda: {m: generator.integers(4, size=(seeds, 1)) for m in "ab"})
    assert max(found) <= 0.05


def test_what_is_true_is_found():
    """Two standard deviations apart, ten seeds; and the reverse claim is refuted."""
    generator = np.random.default_rng(15)
    draw = lambda: {m: i * 2 + generator.normal(size=(10, 1)) for i, m in enumerate("abc")}  # noqa: E731
    order = {"metric": "m", "methods": ("c", "b", "a")}
    assert rates(Order(**order), draw, 200)[0] > 0.9
    assert rates(Order(**order | {"methods": ("a", "b", "c")}), draw, 200)[1] > 0.9
    trend = {"metric": "m", "methods": ("a", "b", "c"), "setting": "size"}
    assert rates(Trend(**trend, direction="increasing"), draw, 200)[0] > 0.9
    assert rates(Trend(**trend, direction="decreasing"), draw, 200)[1] > 0.9
    assert rates(Band(metric="m", method="b", value=2.0, tolerance=1.5), draw, 200)[0] > 0.9
    assert rates(Band(metric="m", method="b", value=5.0, tolerance=1.5), draw, 200)[1] > 0.9
    share = {"metric": "m", "method": "c", "better_than": ("a", "b")}
    assert rates(Share(**share, at_least=0.5), draw, 200)[0] > 0.8
    assert (
        rates(Share(**share | {"method": "a", "better_than": "c"}, at_least=0.5), draw, 200)[1]
        > 0.8
    )


@pytest.mark.parametrize("means", [(0, 2, 4, 3), (0, 2, 2, 4), (0, 5, 10, 6)])
def test_a_trend_that_falls_or_stays_at_one_step_holds_in_5_percent_at_most(means):
    """By the rate of single steps: 1,000 simulations, standard error 0.7 points."""
    generator = np.random.default_rng(16)
    names = "abcd"
    kind = Trend(metric="m", methods=tuple(names), setting="size", direction="increasing")

    def draw():
        return {
            name: mean + generator.normal(size=(10, 1))
            for name, mean in zip(names, means, strict=True)
        }

    assert rates(kind, draw, 1_000)[0] <= 0.05


def test_a_step_that_clearly_goes_the_other_way_refutes_a_trend():
    generator = np.random.default_rng(16)
    means = {"a": 0, "b": 5, "c": 10, "d": 6}
    kind = Trend(metric="m", methods=tuple(means), setting="size", direction="increasing")
    values = {m: mean + generator.normal(size=(10, 1)) for m, mean in means.items()}
    evidence = kind.compare(observe(values))
    findings = find(evidence, intervals=True)
    assert [f.true for f in findings] == [True, True, False]
    assert combine(evidence, [f.true for f in findings]) is Verdict.DOES_NOT_HOLD


# -- skewed and failing runs ----------------------------------------------------------------------


def one_in_five_fails(generator, size):
    return np.where(generator.random(size) < 0.2, 0.0, 1.0)


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
def test_a_bounded_mean_covers_where_one_run_in_five_fails(seeds):
    """1,000 simulations; Student's interval covers from 49 % (3 seeds) to 93 % (20)."""
    generator = np.random.default_rng(21)
    covered = 0
    for _ in range(1_000):
        low, high = BoundedMean.of(one_in_five_fails(generator, (seeds, 1)), (0, 1)).interval(0.05)
        covered += low <= 0.8 <= high
    assert covered >= 950


def test_many_bounded_runs_are_known_closely():
    values = np.random.default_rng(22).normal(0.5, 0.05, size=(500, 2)).clip(0, 1)
    low, high = BoundedMean.of(values, (0.0, 1.0)).interval(0.05)
    assert 0.48 < low < values.mean() < high < 0.52
    scaled = BoundedMean.of(1000 * values, (0.0, 1000.0)).interval(0.05)
    assert scaled == pytest.approx((1000 * low, 1000 * high))


def test_a_bounded_ratio_divides_the_ends_of_both_intervals():
    generator = np.random.default_rng(23)
    a, b = (
        BoundedMean.of(generator.normal(m, 0.05, (200, 1)).clip(0, 1), (0, 1)) for m in (0.2, 0.6)
    )
    low, high = BoundedRatio(a, b).interval(0.05)
    assert low == pytest.approx(a.interval(0.025)[0] / b.interval(0.025)[1])
    assert high == pytest.approx(a.interval(0.025)[1] / b.interval(0.025)[0])
    nothing = BoundedMean.of(np.zeros((5, 1)), (0, 1))
    assert BoundedRatio(a, nothing).interval(0.05) == (-math.inf, math.inf)


def test_a_value_outside_the_stated_range_is_told():
    with pytest.raises(ValueError, match=r"outside the range \[0, 1\]"):
        BoundedMean.of(np.array([[0.5], [1.5]]), (0.0, 1.0))


# -- seed by seed ---------------------------------------------------------------------------------


def test_a_paired_difference_has_students_interval_over_seeds():
    generator = np.random.default_rng(24)
    world = 10 * generator.normal(size=(12, 2))  # what the methods of a seed share
    a, b = (world + shift + 0.1 * generator.normal(size=(12, 2)) for shift in (1.0, 0.0))
    measured = PairedDifference.between(a, b)
    student = stats.ttest_1samp((a - b).mean(axis=1), 0)
    assert measured.interval(0.05) == pytest.approx(student.confidence_interval(0.95))
    assert measured.p_value() == pytest.approx(student.pvalue)
    assert Difference(location(a, "mean"), location(b, "mean")).interval(0.05)[0] < 0


@pytest.mark.parametrize("tasks", [1, 4])
def test_the_tasks_of_a_seed_are_no_trials_of_their_own(tasks):
    """Where all tasks of a seed agree, the share's interval is that of one task."""
    wins = np.array([1.0, 1, 0, 1, 1, 1, 1, 1])[:, None]
    one, all_of_them = (Proportion.of_seeds(w, 2) for w in (wins, wins.repeat(tasks, axis=1)))
    assert all_of_them.interval(0.05) == one.interval(0.05)
    assert all_of_them.runs == 2 * 8 * tasks


def test_where_a_seeds_tasks_share_its_world_a_paired_order_errs_in_5_percent_at_most():
    generator = np.random.default_rng(26)
    kind = Order(metric="m", methods=("a", "b"), paired=True)

    def draw():
        shared = generator.normal(size=(10, 1))
        return {"a": shared + 0.3 * generator.normal(size=(10, 5)), "b": np.zeros((10, 5))}

    assert sum(rates(kind, draw)) <= 0.05


def test_bounded_means_are_apart_where_their_intervals_are():
    never, often = (BoundedMean.of(np.full((60, 1), v), (0, 1)) for v in (0.1, 0.9))
    apart = BoundedDifference(often, never)
    p = apart.p_value()
    assert p < 1e-4
    assert apart.interval(p)[0] > 0
    assert BoundedDifference(never, never).p_value() == 1.0
    assert apart.interval(0.05) == pytest.approx(
        (
            often.interval(0.025)[0] - never.interval(0.025)[1],
            often.interval(0.025)[1] - never.interval(0.025)[0],
        )
    )


def test_few_seeds_of_runs_that_may_fail_can_rank_nothing():
    for seeds, possible in ((5, False), (10, False), (40, True)):
        assert decidable(seeds, 9, Failures((0.0, 1.0))) == possible
        scores = {
            f"m{k}": np.full((seeds, 1), float(k > 7)) for k in range(9)
        }  # one never fails, the others always
        pairs = compare(scores, "mean", paired=False, failures=Failures((0.0, 1.0)))
        assert any(pair.adjusted <= 0.05 for pair in pairs) == possible
    assert not decidable(1_000, 2, Failures(None))


# -- seeds that would decide ----------------------------------------------------------------------


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


def test_an_estimate_on_the_boundary_is_decided_by_no_number_of_seeds():
    a, b = (np.array(v, dtype=float)[:, None] for v in ([1, 2, 3, 4], [1, 2, 3, 4]))
    evidence = Order(metric="m", methods=("a", "b")).compare(observe({"a": a, "b": b}))
    assert seeds_needed(evidence, find(evidence, intervals=True), 4).seeds is None


@pytest.mark.parametrize(
    ("kind", "seeds", "tasks"),
    [
        (Order(metric="m", methods=("a", "b")), 3, 1),
        (Order(metric="m", methods=("a", "b"), per_task=True), 3, 57),
        (Order(metric="m", methods=("a", "b"), paired=True), 5, 1),
        (
            Trend(metric="m", methods=("a", "b", "c"), values=(1, 2, 3), direction="increasing"),
            4,
            1,
        ),
        (Share(metric="m", method="a", better_than="b", at_least=0.5), 5, 1),
        (Band(metric="m", method="a", low=0.0), 2, 1),
    ],
)
def test_claims_that_no_runs_of_a_budget_could_decide_are_told_and_indeed_never_are(
    kind, seeds, tasks
):
    names = [f"t{t}" for t in range(tasks)]
    with pytest.raises(ValueError, match="can never decide it"):
        kind.check_seeds(seeds, names, paired=False)
    if seeds >= 3:
        best = {m: np.full((seeds, tasks), i) + np.arange(seeds)[:, None] / 100.0
                for m, i in (("a", 5.0), ("b", 0.0), ("c", 9.0))}  # fmt: skip
        evidence = kind.compare(observe({m: best[m] for m in kind.named_methods}))
        found = [f.true for f in find(evidence, intervals=True)]
        assert combine(evidence, found) is Verdict.UNDECIDED
    kind.check_seeds(4 * seeds, names, paired=False)


def test_tasks_are_arranged_as_products_of_their_arrangements():
    both = list(product(list(ranks._arrangements((2, 1))), list(ranks._arrangements((1, 1)))))
    (labels,) = ranks._permutations(((2, 1), (1, 1)))
    assert sorted(map(tuple, np.concatenate(labels, axis=1).tolist())) == sorted(
        tuple(x + y) for x, y in both
    )
