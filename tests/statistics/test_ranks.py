"""Simultaneous intervals of differences, and the ranks that are read off them."""

import numpy as np
import pytest

from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import location, paired_difference
from uqbench.statistics.pairing import correlation, pairing_note
from uqbench.statistics.ranks import compare, places


def boards(seed, means, runs=6, tasks=1, number=200):
    generator = np.random.default_rng(seed)
    for _ in range(number):
        yield {f"m{i}": mean + generator.normal(size=(runs, tasks)) for i, mean in enumerate(means)}


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
                ends = of.interval(p)
                assert min(map(abs, ends)) < 1e-6 * abs(of.estimate)


def test_a_pair_with_an_unranked_row_is_compared_as_if_alone_and_the_others_together():
    scores = next(boards(3, [0.0, 1.0, 2.0, 0.0, 0.0], runs=8))
    found = compare(scores, "mean", paired=False, baselines=["m3"], unranked=["m4"])
    together = {(p.first, p.second): p for p in found if p.adjusted is not None}
    assert len(together) == 3 + 3
    for pair in found:
        names = pair.first, pair.second
        (alone,) = compare({name: scores[name] for name in names}, "mean", paired=False)
        if names in together:
            assert pair.difference.low < alone.difference.low
        elif names != ("m3", "m4"):
            assert pair.difference == alone.difference


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
    nine = location(values, "iqm").with_seeds(9)
    assert nine.degrees == pytest.approx(8 * 3 / 5)
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


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("ranges", [None, [(-50.0, 50.0)] * 2])
@pytest.mark.parametrize("few", [1, 2])
def test_a_row_of_too_few_runs_changes_nothing_among_the_others(paired, ranges, few):
    """It has differences without intervals, which are none of those that hold together."""
    generator = np.random.default_rng(5)
    world = 3 * generator.normal(size=(8, 2))
    scores = {f"m{i}": i + world + 0.5 * generator.normal(size=(8, 2)) for i in range(4)}
    more = scores | {"mine": scores["m0"][:few] + 0.3}
    alone, beside = (
        compare(of, "mean", paired=paired, baselines=["m0"], ranges=ranges) for of in (scores, more)
    )
    own = [pair for pair in beside if "mine" in (pair.first, pair.second)]
    assert [pair for pair in beside if pair not in own] == list(alone)
    assert {(pair.difference.low, pair.p, pair.adjusted) for pair in own} == {(None, None, None)}
    assert places(more, beside, "mean") == places(scores, alone, "mean")


def test_a_row_of_other_runs_is_compared_by_its_own_and_the_others_stay_paired():
    """More pairs hold together, and nothing else is another: p-values and estimates are equal."""
    generator = np.random.default_rng(6)
    world = 3 * generator.normal(size=(8, 1))
    scores = {f"m{i}": i + world + 0.5 * generator.normal(size=(8, 1)) for i in range(3)}
    alone = compare(scores, "mean", paired=True)
    beside = compare(scores | {"mine": scores["m0"][:5] + 9}, "mean", paired=True)
    mine = [pair for pair in beside if "mine" in (pair.first, pair.second)]
    rest = [pair for pair in beside if pair not in mine]
    assert [(a.p, a.difference.value) for a in rest] == [(a.p, a.difference.value) for a in alone]
    assert [pair.adjusted for pair in rest] == [min(1.0, 2 * pair.adjusted) for pair in alone]
    assert None not in {pair.difference.low for pair in mine}


def test_worlds_that_methods_share_are_found_by_permutation():
    generator = np.random.default_rng(8)
    worlds = generator.normal(size=(10, 3))
    shared = [worlds + generator.normal(size=(10, 3)) for _ in range(6)]
    r, p = correlation(shared)
    assert 0.3 < r < 0.7
    assert p == 0.001
    assert "Methods' scores of a seed are correlated" in pairing_note(shared, paired=False)
    assert pairing_note(shared, paired=True) == ""
    one_more = [*shared, shared[0][:1]]
    assert pairing_note(one_more, paired=False) == pairing_note(shared, paired=False)
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
