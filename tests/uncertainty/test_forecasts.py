"""Scores of return distributions, on distributions whose scores are known."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from uqbench.uncertainty.forecasts import fair_crps_of_truth, lower_tail_mean, mean_difference

NORMAL = torch.distributions.Normal(0.0, 1.0)


def uniform(atoms: Tensor) -> Tensor:
    return torch.full_like(atoms, 1 / atoms.shape[-1])


@pytest.mark.parametrize("samples", [2, 8])
def test_few_samples_of_the_truth_state_its_crps_without_bias(samples):
    """1/√π, over 40,000 sets; the standard error of their mean is below 0.0025."""
    drawn = torch.randn(40_000, samples, generator=torch.Generator().manual_seed(0))
    outcomes = drawn.double()
    assert fair_crps_of_truth(outcomes).mean().item() == pytest.approx(math.pi**-0.5, abs=0.01)
    biased = 0.5 * mean_difference(outcomes, uniform(outcomes)).mean().item()
    assert biased < math.pi**-0.5 * (1 - 0.9 / samples)


def test_the_lower_tails_mean_counts_part_of_an_atom():
    atoms, probs = torch.tensor([[3.0, -1.0, 7.0]]), torch.tensor([[0.3, 0.2, 0.5]])
    assert lower_tail_mean(atoms, probs, 0.2).item() == pytest.approx(-1)
    assert lower_tail_mean(atoms, probs, 0.25).item() == pytest.approx((0.2 * -1 + 0.05 * 3) / 0.25)
    assert lower_tail_mean(atoms, probs, 1.0).item() == pytest.approx(0.9 - 0.2 + 3.5)
    normal = NORMAL.icdf((torch.arange(4_000).double() + 0.5) / 4_000)[None]
    expected = -NORMAL.log_prob(NORMAL.icdf(torch.tensor(0.25))).exp() / 0.25
    assert lower_tail_mean(normal, uniform(normal), 0.25).item() == pytest.approx(
        expected.item(), abs=1e-3
    )
