"""Scores of return distributions, on distributions whose scores are known."""

import math

import pytest
import torch
from torch import Tensor

from uqbench.uncertainty.forecasts import (
    crps,
    fair_crps_of_truth,
    ks_distance,
    lower_tail_mean,
    mean_difference,
    pit_distribution,
)

NORMAL = torch.distributions.Normal(0.0, 1.0)


def quantiles(count: int, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """A normal distribution as ``count`` equally likely atoms, ``[1, count]``."""
    levels = (torch.arange(count).double() + 0.5) / count
    return (mean + std * NORMAL.icdf(levels))[None]


def uniform(atoms: Tensor) -> Tensor:
    return torch.full_like(atoms, 1 / atoms.shape[-1])


def draws(count: int, seed: int = 0) -> Tensor:
    return torch.randn(1, count, generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize("outcome", [-1.0, 0.0, 2.5])
def test_the_crps_of_a_normal_forecast_is_its_closed_form(outcome):
    """``y (2 Φ(y) − 1) + 2 φ(y) − 1/√π`` (Gneiting & Raftery, equation 5 of section 4.2)."""
    atoms = quantiles(4_000)
    y = torch.tensor(outcome, dtype=torch.float64)
    expected = y * (2 * NORMAL.cdf(y) - 1) + 2 * NORMAL.log_prob(y).exp() - math.pi**-0.5
    given = crps(atoms, uniform(atoms), y.view(1, 1))
    assert given.item() == pytest.approx(expected.item(), abs=1e-3)


def test_a_point_forecasts_crps_is_the_absolute_error():
    """Two atoms, of unequal mass and in no order: E|X − 1| = ¾ · 1 + ¼ · 3, ½ E|X − X'| = ¾."""
    point = crps(torch.tensor([[2.0]]), torch.ones(1, 1), torch.tensor([[5.0, 1.0]]))
    assert point.item() == pytest.approx((3 + 1) / 2)
    two = crps(torch.tensor([[4.0, 0.0]]), torch.tensor([[0.25, 0.75]]), torch.tensor([[1.0]]))
    assert two.item() == pytest.approx(0.75 * 1 + 0.25 * 3 - 0.75)


@pytest.mark.parametrize("samples", [2, 8])
def test_few_samples_of_the_truth_state_its_crps_without_bias(samples):
    """1/√π, over 40,000 sets; the standard error of their mean is below 0.0025."""
    outcomes = draws(40_000 * samples).view(-1, samples)
    assert fair_crps_of_truth(outcomes).mean().item() == pytest.approx(math.pi**-0.5, abs=0.01)
    biased = 0.5 * mean_difference(outcomes, uniform(outcomes)).mean().item()
    assert biased < math.pi**-0.5 * (1 - 0.9 / samples)


def test_a_calibrated_forecast_has_a_uniform_pit():
    """20,000 outcomes: the distance's 99.9 % quantile is 1.95 / √20000 = 0.014."""
    outcomes = draws(20_000)
    atoms = quantiles(400)
    assert ks_distance(pit_distribution(atoms, uniform(atoms), outcomes)) < 0.014 + 1 / 400
    narrow = quantiles(400, std=0.5)  # a quarter of the outcomes lies beyond each end of its middle
    assert ks_distance(pit_distribution(narrow, uniform(narrow), outcomes)) > 0.1


def test_an_atom_that_is_hit_spreads_over_its_step():
    """A coin, forecast rightly, is calibrated though it has but two outcomes."""
    coin, outcomes = torch.tensor([[0.0, 1.0]]).double(), torch.tensor([[0.0, 1.0]]).double()
    assert ks_distance(pit_distribution(coin, uniform(coin), outcomes)) == pytest.approx(0)
    wrong = torch.tensor([[0.9, 0.1]]).double()
    assert ks_distance(pit_distribution(coin, wrong, outcomes)) == pytest.approx(0.4)


def test_the_lower_tails_mean_counts_part_of_an_atom():
    atoms, probs = torch.tensor([[3.0, -1.0, 7.0]]), torch.tensor([[0.3, 0.2, 0.5]])
    assert lower_tail_mean(atoms, probs, 0.2).item() == pytest.approx(-1)
    assert lower_tail_mean(atoms, probs, 0.25).item() == pytest.approx((0.2 * -1 + 0.05 * 3) / 0.25)
    assert lower_tail_mean(atoms, probs, 1.0).item() == pytest.approx(0.9 - 0.2 + 3.5)
    normal = quantiles(4_000)
    expected = -NORMAL.log_prob(NORMAL.icdf(torch.tensor(0.25))).exp() / 0.25
    assert lower_tail_mean(normal, uniform(normal), 0.25).item() == pytest.approx(
        expected.item(), abs=1e-3
    )
