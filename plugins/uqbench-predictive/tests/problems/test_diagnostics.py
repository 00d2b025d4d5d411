"""Agreement of chains, on chains whose answer is known."""

import numpy as np
import pytest
from uqbench_predictive.problems.diagnostics import bulk_ess, halves, r_hat, tail_ess


def test_an_odd_number_of_draws_loses_the_last():
    assert halves(np.arange(5.0)[None]).tolist() == [[0, 1], [2, 3]]


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
