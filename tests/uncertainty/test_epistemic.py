"""Scores of epistemic uncertainties and of return distributions whose scores are known."""

import math

import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor

from uqbench.uncertainty import epistemic, forecasts

COUNT = 20_000
STD = torch.linspace(0.5, 2.0, COUNT).double()
ERROR = STD * torch.randn(COUNT, generator=torch.Generator().manual_seed(0)).double()
NONE = torch.zeros(COUNT).double()


@pytest.mark.parametrize("noise", [0.0, 0.5, 4.0])
def test_a_noisy_truth_does_not_lower_the_coverage_of_a_right_interval(noise):
    """Unless the noise is left out; 20,000 intervals, a standard error of 0.0021."""
    seen = ERROR + noise**0.5 * torch.randn(COUNT, generator=torch.Generator().manual_seed(2))
    ends = (-1.6448536 * STD, 1.6448536 * STD)

    def coverage(known: torch.Tensor) -> float:
        low, high = epistemic.widened(*ends, known, 0.9)
        return ((low <= seen) & (seen <= high)).double().mean().item()

    assert coverage(NONE + noise) == pytest.approx(0.9, abs=0.009)
    if noise:
        assert coverage(NONE) < 0.86


def test_the_distance_of_a_point_to_an_exact_truth_is_the_absolute_error():
    assert torch.equal(epistemic.crps_distance(ERROR, NONE, NONE), ERROR.abs())


@pytest.mark.parametrize("law", ["normal", "counts"])
def test_rollouts_leave_the_distance_where_it_is_seen_with_their_blur(law):
    """Four rollouts whose truth is known: the mean over 20,000 against no noise of its own.

    Its standard error is below 0.004; the bias of second order is as small.
    """
    generator = torch.Generator().manual_seed(3)
    q = 2 + torch.rand(COUNT, generator=generator).double()
    if law == "counts":
        returns = torch.poisson(q[:, None].expand(-1, 4), generator=generator)
    else:
        returns = q[:, None] + torch.randn(COUNT, 4, generator=generator).double()
    error, noise = 0.5 * ERROR, returns.var(-1) / 4
    for std in (0 * STD, 0.5 * STD, STD):
        seen = epistemic.crps_distance(q + error - returns.mean(-1), std, noise)
        known = _distance_with_blur(error, std, 9 * noise.mean())
        assert seen.mean().item() == pytest.approx(known.mean().item(), abs=0.015)


def _distance_with_blur(error, std, blur):
    """By numbers: the kernel ``E|x − y + τZ|`` on a grid of normal quantiles."""
    levels = torch.special.ndtri((torch.arange(400).double() + 0.5) / 400)

    def mean_distance(difference, var):
        return (difference[:, None] + var.sqrt()[:, None] * levels).abs().mean(-1)

    thin = slice(None, None, 20)
    error, std = error[thin], std[thin]
    among = mean_distance(0 * error, 2 * std.square() + blur)
    own = mean_distance(0 * error, blur + 0 * std)
    return mean_distance(error, std.square() + blur) - 0.5 * among - 0.5 * own


def test_scale_is_the_power_of_ten_that_a_standard_deviation_lacks():
    square = float(ERROR.square().mean())
    for of in (-1, 0, 1, 2):
        assert epistemic.scale(square, STD / 10**of, NONE, 1e-6) == pytest.approx(of, abs=0.01)
    assert epistemic.scale(0.0, NONE, NONE, 1e-3) == 0  # nothing stated, and nothing wrong
    assert epistemic.scale(1.0, NONE, NONE, 1e-3) == pytest.approx(3)


def test_rank_correlation_is_spearmans():
    x, y = torch.tensor([[1.0, 1.0, 2.0, 5.0], [10.0, 20.0, 40.0, 30.0]])  # with a tie
    assert epistemic.rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert torch.tensor(epistemic.rank_correlation(torch.ones(4), x)).isnan()


def test_sparsification_leaves_out_the_most_uncertain_first():
    std, error = torch.tensor([3.0, 1.0, 2.0, 4.0]), torch.tensor([-1.0, 2.0, 4.0, 9.0])
    curve = epistemic.sparsification(std, error).tolist()
    assert (curve[0], curve[5], curve[10], curve[15]) == pytest.approx((4, 7 / 3, 3, 2))


def test_auroc_counts_pairs():
    assert epistemic.auroc(*torch.tensor([[2.0, 3.0], [1.0, 2.0]])) == pytest.approx(3.5 / 4)
    assert epistemic.auroc(torch.ones(3), torch.ones(5)) == pytest.approx(0.5)


@pytest.mark.parametrize("rollouts", [8, 32])
def test_differences_between_actions_are_resolved_at_twice_their_standard_error(rollouts):
    """Values of variance 1 between three actions, an own noise of variance 4 a rollout, and one of
    100 that a state's actions share, and that counts nothing. Of 8 the standard error is .7 of the
    deviation, of 32 a third; 4,000 states, so that both are known to a hundredth."""
    generator = torch.Generator().manual_seed(0)
    shape = (4_000, 3, rollouts)
    value, shared = torch.randn(4_000, 3, 1, generator=generator), torch.randn(4_000, 1, rollouts)
    returns = value + 2 * torch.randn(shape, generator=generator) + 10 * shared
    noise, estimated = epistemic.action_noise(returns.double())
    assert noise == pytest.approx(4 / rollouts * 2 / 3, rel=0.03)
    assert estimated - noise == pytest.approx(2 / 3, rel=0.06)
    assert bool(epistemic.resolved(noise, estimated)) == (rollouts == 32)


def uniform(atoms: Tensor) -> Tensor:
    return torch.full_like(atoms, 1 / atoms.shape[-1])


def draws(count: int, seed: int = 0) -> Tensor:
    return torch.randn(1, count, generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize("samples", [2, 8])
def test_few_samples_of_the_truth_state_its_crps_without_bias(samples):
    """1/√π, over 40,000 sets; the standard error of their mean is below 0.0025."""
    outcomes = draws(40_000 * samples).view(-1, samples)
    assert forecasts.fair_crps_of_truth(outcomes).mean().item() == pytest.approx(
        math.pi**-0.5, abs=0.01
    )
    biased = 0.5 * forecasts.mean_difference(outcomes, uniform(outcomes)).mean().item()
    assert biased < math.pi**-0.5 * (1 - 0.9 / samples)
