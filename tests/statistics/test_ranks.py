"""Simultaneous intervals of differences, and the ranks that are read off them."""

import numpy as np
import pytest
from scipy import stats

from uqbench.statistics.bounded import SHARE
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import location, paired_difference
from uqbench.statistics.pairing import correlation, pairing_note
from uqbench.statistics.ranks import compare, places


def boards(seed, means, runs=6, tasks=1, number=200):
    generator = np.random.default_rng(seed)
    for _ in range(number):
        yield {f"m{i}": mean + generator.normal(size=(runs, tasks)) for i, mean in enumerate(means)}


def contradictions(scores, pairs, statistic, baselines=()):
    """Pairs whose interval, p-value and ranks do not say the same."""
    ranked = {name: of for name, of in scores.items() if name not in baselines}
    found = places(ranked, pairs, statistic)
    wrong = []
    for pair in pairs:
        low, high = pair.difference.low, pair.difference.high
        apart = low is not None and (low > 0 or high < 0)
        if pair.adjusted is not None and apart != (pair.adjusted <= ALPHA):
            wrong.append(pair)
        if pair.first in found and pair.second in found:
            better, worse = (
                (pair.first, pair.second)
                if pair.difference.value > 0
                else (pair.second, pair.first)
            )
            if apart and not found[better].low < found[worse].low + 1 <= len(found) + 1:
                wrong.append(pair)
    for name, place in found.items():
        own = [p for p in pairs if name in (p.first, p.second) and {p.first, p.second} <= {*found}]
        beaten = sum(p.better(p.second if p.first == name else p.first) for p in own)
        if (place.low == 1) != (beaten == 0) or not place.low <= place.high:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("ranges", [None, [SHARE] * 2])
def test_bracket_p_value_and_rank_never_contradict_one_another(paired, ranges):
    generator = np.random.default_rng(7)
    for _ in range(6 if ranges else 60):
        shape, n = generator.uniform(0, 3), int(generator.integers(3, 13))
        means = generator.random(5) * shape
        scores = {
            f"m{i}": (mean + generator.lognormal(size=(n, 2)) * generator.choice([1, 3])) % 7 / 7
            for i, mean in enumerate(means)
        }
        pairs = compare(scores, "mean", paired=paired, baselines=["m4"], ranges=ranges)
        assert contradictions(scores, pairs, "mean", ["m4"]) == []


def test_seeds_are_compared_one_by_one_where_all_methods_have_them():
    """Worlds differ by ten times what methods do; where one method lacks a seed, nothing pairs."""
    generator = np.random.default_rng(3)
    world = 10 * generator.normal(size=(8, 1))
    both = {
        name: world + shift + generator.normal(size=(8, 1))
        for name, shift in (("a", 3.0), ("b", 0))
    }
    (seedwise,), (apart,) = (compare(both, "mean", paired=of) for of in (True, False))
    assert seedwise.p < 0.01 < 0.1 < apart.p
    lacking = both | {"b": both["b"][1:]}
    (one,), (other,) = (compare(lacking, "mean", paired=of) for of in (True, False))
    assert one == other


def test_the_p_value_is_the_level_at_which_the_interval_ends_at_zero():
    generator = np.random.default_rng(1)
    for _ in range(50):
        a, b = (generator.lognormal(size=(9, 2)) for _ in "ab")
        for of in (
            location(a - 1.0, "mean"),
            location(a, "mean").plus(-1.0, location(b, "mean")),
            paired_difference(a, b),
        ):
            p = of.p_value()
            if p < 1:  # else no level does
                assert min(map(abs, of.interval(p))) < 1e-6 * abs(of.estimate)


def test_without_skewness_it_is_welchs_and_students():
    x = np.array([[-1.0], [0.0], [1.0], [5.0], [6.0], [7.0]])
    y = np.array([[0.0], [1.0], [2.0], [9.0], [10.0], [11.0]])
    of = location(x, "mean").plus(-1.0, location(y, "mean"))
    assert of.p_value() == pytest.approx(stats.ttest_ind(x, y, equal_var=False).pvalue[0])
    assert location(x, "mean").p_value() == pytest.approx(stats.ttest_1samp(x, 0).pvalue[0])


def test_the_skewness_of_a_difference_is_that_of_its_error():
    """Third moments of independent errors add up, with the sign of each."""
    a, b = np.random.default_rng(2).exponential(size=(2, 9, 1))
    one, two = location(a, "mean"), location(b, "mean")
    third = [stats.skew(of[:, 0], bias=False) * of.var(ddof=1) ** 1.5 / 81 for of in (a, b)]
    variance = (a.var(ddof=1) + b.var(ddof=1)) / 9
    of = one.plus(-1.0, two)
    assert of.variance == pytest.approx(variance)
    assert of.skewness == pytest.approx((third[0] - third[1]) / variance**1.5)
    twice = one.plus(2.0, two)
    assert twice.skewness == pytest.approx((third[0] + 8 * third[1]) / twice.variance**1.5)


def test_all_pairs_and_the_baselines_are_adjusted_together():
    scores = next(boards(3, [0.0, 1.0, 2.0, 0.0, 0.0], runs=8))
    pairs = {
        (p.first, p.second): p
        for p in compare(scores, "mean", paired=False, baselines=["m3"], unranked=["m4"])
    }
    family = [pair for pair in pairs.values() if pair.adjusted is not None]
    assert {name for p in family for name in (p.first, p.second)} == {"m0", "m1", "m2", "m3"}
    assert len(family) == 3 + 3
    assert all(p.adjusted == min(1.0, 6 * p.p) for p in family)
    two = compare({"m0": scores["m0"], "m4": scores["m4"]}, "mean", paired=False)[0]
    alone = pairs["m0", "m4"].difference
    assert (alone.low, alone.high) == (two.difference.low, two.difference.high)
    family_alone = pairs["m0", "m1"].difference
    one = compare({n: scores[n] for n in ("m0", "m1")}, "mean", paired=False)[0].difference
    assert family_alone.low < one.low < one.high < family_alone.high


@pytest.mark.parametrize("paired", [False, True])
def test_equal_methods_are_told_apart_in_5_of_100_boards(paired):
    """Nine methods; of 300 boards more than 24 (8 %) have probability 1.5 % at a rate of 5 %."""
    wrong = sum(
        any(pair.adjusted <= ALPHA for pair in compare(of, "mean", paired=paired))
        for of in boards(4, [0.0] * 9, runs=8, number=300)
    )
    assert wrong <= 24


def test_an_iqm_has_fewer_degrees_of_freedom_by_the_runs_that_it_cuts_off():
    """Eight equal methods of five runs: with all four degrees 13 % of boards tell some apart.

    Of 150 boards more than 13 have probability 0.1 % at a rate of 3.5 %, 91 % at one of 13 %.
    """
    values = np.random.default_rng(3).normal(size=(5, 1))
    assert location(values, "iqm").degrees == pytest.approx(4 * 3 / 5)
    assert location(values, "mean").degrees == pytest.approx(4)
    assert paired_difference(values, values[::-1] ** 2, "iqm").degrees == pytest.approx(4 * 3 / 5)
    assert location(values, "iqm").with_seeds(9).degrees == pytest.approx(8 * 3 / 5)
    for paired in (False, True):
        wrong = sum(
            any(pair.adjusted <= ALPHA for pair in compare(of, "iqm", paired=paired))
            for of in boards(4, [0.0] * 8, runs=5, number=150)
        )
        assert wrong <= 13


def test_the_best_method_is_among_those_that_may_be_first():
    """And alone where the runs say so: nine methods, one of them two standard deviations better."""
    missed = alone = 0
    for of in boards(5, [2.0, *[0.0] * 8], runs=10, number=60):
        found = places(of, compare(of, "mean", paired=False), "mean")
        first = [name for name, place in found.items() if place.low == 1]
        missed += "m0" not in first
        alone += first == ["m0"]
    assert missed <= 3
    assert alone > 10


def test_a_noisy_row_takes_no_other_pair_apart():
    generator = np.random.default_rng(4)
    scores = {f"m{i}": i + generator.normal(size=(10, 2)) for i in range(6)}

    def apart(of):
        pairs = compare(of, "mean", paired=False)
        return {(p.first, p.second) for p in pairs if p.adjusted <= ALPHA and p.second != "noisy"}

    for times in (3, 10, 30):
        noisy = {**scores, "noisy": 1.5 + times * generator.normal(size=(10, 2))}
        assert len(apart(scores)) - len(apart(noisy)) <= 2


def test_runs_without_spread_and_few_seeds_leave_everything_open():
    """Neither an interval nor a p-value, and no rank that would follow from one."""
    apart = {"a": np.zeros((10, 1)), "b": np.ones((10, 1))}
    (pair,) = compare(apart, "mean", paired=False)
    assert (pair.difference.low, pair.p, pair.adjusted) == (None, None, None)
    rounded = {"a": np.full((3, 1), 0.3), "b": np.array([[0.1 + 0.2], [0.3], [0.1 + 0.2]])}
    assert compare(rounded, "mean", paired=True)[0].p is None
    few = {"a": np.array([[0.0], [0.1]]), "b": np.array([[9.0], [9.2]])}
    for of in (apart, few):
        found = places(of, compare(of, "mean", paired=False), "mean")
        assert {str(place) for place in found.values()} == {"1–2"}


def test_p_better_of_so_few_runs_that_nothing_is_left_out_has_no_interval():
    (pair,) = compare(next(boards(6, [0.0, 9.0], runs=3)), "mean", paired=False)
    assert (pair.improvement.value, pair.improvement.low) == (0.0, None)


def test_worlds_that_methods_share_are_found_by_permutation():
    generator = np.random.default_rng(8)
    worlds = generator.normal(size=(10, 3))
    shared = [worlds + generator.normal(size=(10, 3)) for _ in range(6)]
    r, p = correlation(shared)
    assert 0.3 < r < 0.7
    assert p == 0.001
    assert "Methods' scores of a seed are correlated" in pairing_note(shared, paired=False)
    assert pairing_note(shared, paired=True) == ""
    apart = [generator.normal(size=(10, 3)) for _ in range(6)]
    assert pairing_note(apart, paired=False) == ""
    few = [
        3 * world + generator.normal(size=(3, 5)) for world in [generator.normal(size=(3, 5))] * 8
    ]
    assert "Methods' scores of a seed are correlated" in pairing_note(few, paired=False)
    assert pairing_note([of[:2] for of in few], paired=False) == ""
    networks = [generator.normal(size=(10, 1)) + generator.normal(size=(10, 5)) for _ in range(6)]
    assert "Tasks' scores of a seed are correlated" in pairing_note(networks, paired=False)


def test_a_correlation_by_chance_is_found_as_rarely_as_its_p_value_says():
    generator = np.random.default_rng(9)
    found = [correlation(list(generator.normal(size=(4, 6, 2))))[1] <= 0.05 for _ in range(200)]
    assert 0.01 < np.mean(found) < 0.1


def test_cells_whose_runs_are_all_equal_do_not_correlate():
    assert correlation([np.ones((5, 2)), np.zeros((5, 2))]) == (0.0, 1.0)
