"""Agreement of chains, on chains whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from uqbench_predictive.problems.diagnostics import bulk_ess, halves, r_hat, tail_ess


def autoregressive(correlation: float) -> np.ndarray:
    """Four stationary chains of 5,000 draws, three quantities each."""
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(4, 5_000, 3))
    draws = np.empty_like(noise)
    draws[:, 0] = noise[:, 0] / np.sqrt(1 - correlation**2)
    for t in range(1, draws.shape[1]):
        draws[:, t] = correlation * draws[:, t - 1] + noise[:, t]
    return draws


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_effective_sample_size_is_that_of_an_autoregressive_chain(correlation):
    # the standard error of the estimated autocorrelation time is below 7 % of it
    expected = 20_000 * (1 - correlation) / (1 + correlation)
    assert bulk_ess(autoregressive(correlation)) == pytest.approx(expected, rel=0.25)


def test_r_hat_is_one_for_equal_chains_and_sees_a_shift_and_a_drift():
    draws = autoregressive(0.0)
    assert r_hat(draws) == pytest.approx(1, abs=0.003)
    shifted = draws.copy()
    shifted[0] += 1.0
    assert (r_hat(shifted) > 1.05).all()
    drifting = draws + np.linspace(0, 2, 5_000)[:, None]
    assert (r_hat(drifting) > 1.05).all()
    assert np.allclose(r_hat(2 * draws - 1), r_hat(draws))
    assert np.allclose(bulk_ess(np.exp(draws)), bulk_ess(draws))  # of the ranks


def test_an_odd_number_of_draws_loses_the_last():
    assert halves(np.arange(5.0)[None]).tolist() == [[0, 1], [2, 3]]


def test_r_hat_sees_chains_that_agree_in_location_and_not_in_width():
    draws = autoregressive(0.0)
    draws[0] *= 3
    assert (r_hat(draws) > 1.1).all()
    assert (tail_ess(draws) < 100).all()
    assert (bulk_ess(draws) > 15_000).all()  # which says nothing of the width


@pytest.mark.parametrize(
    ("scale", "rhat", "bulk", "tail"),
    [(1.0, 1.0020993, 3820.6, 3919.2), (3.0, 1.1112927, 3833.6, 31.75)],
)
def test_the_numbers_are_those_of_arviz(scale, rhat, bulk, tail):
    """arviz-stats 0.8.0: R̂ to all digits; its sum of autocorrelations ends by another rule."""
    draws = np.random.default_rng(7).normal(size=(4, 1_000))
    draws[0] *= scale
    assert r_hat(draws) == pytest.approx(rhat, abs=1e-7)
    assert bulk_ess(draws) == pytest.approx(bulk, rel=0.03)
    assert tail_ess(draws) == pytest.approx(tail, rel=0.3)
