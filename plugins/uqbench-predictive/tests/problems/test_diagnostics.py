"""Agreement of chains, on chains whose answer is known."""

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


def disagreeing(correlation: float, scale: float, shift: float) -> np.ndarray:
    """Four autoregressive chains of 1,000 draws; the first has another width and place."""
    draws = np.random.default_rng(7).normal(size=(4, 1_000))
    for t in range(1, 1_000):
        draws[:, t] += correlation * draws[:, t - 1]
    draws[0] = scale * draws[0] + shift
    return draws


@pytest.mark.parametrize(
    ("chains", "rhat", "bulk", "tail"),
    [
        (disagreeing(0.0, 1, 0), 1.0020993, 3820.63, 3919.20),
        (disagreeing(0.0, 3, 0), 1.1112927, 3833.63, 31.75),
        (disagreeing(0.9, 1, 0), 1.0232649, 181.53, 485.97),
        (disagreeing(0.9, 2, 0), 1.0779412, 154.25, 56.32),
        (disagreeing(0.0, 1, 1), 1.0888242, 28.90, 261.39),
        (disagreeing(-0.4, 1, 0), 1.0001986, 8842.62, 3994.90),
    ],
    ids=["independent", "wide", "slow", "slow and wide", "apart", "swinging"],
)
def test_the_numbers_are_those_of_arviz(chains, rhat, bulk, tail):
    """arviz-stats 0.8.0, to all digits that are written here."""
    assert r_hat(chains) == pytest.approx(rhat, abs=1e-7)
    assert bulk_ess(chains) == pytest.approx(bulk, abs=0.01)
    assert tail_ess(chains) == pytest.approx(tail, abs=0.01)
