"""Mixture importance sampling."""

from __future__ import annotations

import math

import pytest
import torch
from uqbench_quam.methods.importance import asymptotic_variance, posterior_weights


def test_weights_are_the_likelihood_and_follow_the_temperature():
    losses = torch.tensor([[1.0], [2.0], [3.0]])
    n = 4  # exp(−n L) is the likelihood of n points
    expected = torch.tensor([[math.exp(-4.0)], [math.exp(-8.0)], [math.exp(-12.0)]])
    assert torch.allclose(
        posterior_weights(losses, 1 / n), (expected / expected.sum()).double(), atol=1e-7
    )
    assert torch.allclose(
        posterior_weights(losses, 1e9), torch.full((3, 1), 1 / 3, dtype=torch.float64)
    )


def test_figure_b1_s_asymptotic_variance_is_a_quarter_of_e_to_the_ninth_minus_one():
    x = torch.linspace(-12, 18, 300_001, dtype=torch.float64)

    def normal(mean):
        return (-0.5 * (x - mean) ** 2).exp() / math.sqrt(2 * math.pi)

    target = 0.5 * normal(0.0) + 0.5 * normal(3.0)
    cell = (x[1] - x[0]).item()
    variance = asymptotic_variance(target, normal(0.0), cell).item()
    assert variance == pytest.approx((math.exp(9) - 1) / 4)


def test_a_proposal_proportional_to_the_integrand_has_no_variance_and_theorem_1_holds():
    posterior = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
    divergences = torch.tensor([0.0, 0.3, 2.0], dtype=torch.float64)
    integrand = posterior * divergences
    best = integrand / integrand.sum()
    assert asymptotic_variance(integrand[1:], best[1:], 1.0).item() == pytest.approx(0, abs=1e-12)
    variance = asymptotic_variance(integrand, posterior, 1.0)
    bound = 4 * (posterior * (integrand / posterior).square()).sum()  # equation 5, times N
    assert 0 < variance < bound
