"""Intervals of the ratio of two means."""

import math

import numpy as np
import pytest
from scipy import stats
from uqbench_claims.kinds.ratio import Ratio

from uqbench.statistics.location import location


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
