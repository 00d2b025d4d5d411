"""Facts about the estimators: Propositions 2.1 to 2.3 of Clements et al. 2019."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from uqbench_uadqn.uncertainty import (
    aleatoric_var,
    biased_aleatoric_var,
    epistemic_var,
    pairs_aleatoric_var,
    pairs_epistemic_var,
    posterior_aleatoric_var,
    posterior_epistemic_var,
    total_var,
)

N, S, SAMPLES = 50, 1.3, 40_000
MEANS = torch.linspace(-3, 3, N, dtype=torch.float64)
ALEATORIC = MEANS.var(correction=0).item()
EPISTEMIC = S**2


def posterior(independent: bool, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs of samples ``[SAMPLES, N]`` of a posterior with y_i ~ N(m_i, S²)."""
    generator = torch.Generator().manual_seed(seed)
    shape = (2, SAMPLES, N if independent else 1)
    noise = torch.randn(shape, generator=generator, dtype=torch.float64)
    a, b = MEANS + S * noise.expand(2, SAMPLES, N)
    return a, b


def standard_errors_off(estimates: torch.Tensor, expected: float) -> float:
    """Distance of a Monte-Carlo mean from its expectation; above 5 once in 1.7 million."""
    error = estimates.std().item() / len(estimates) ** 0.5 + 1e-9  # where the estimate is exact
    return abs(estimates.mean().item() - expected) / error


@pytest.mark.parametrize("independent", [True, False])
def test_both_variances_are_unbiased(independent):
    a, b = posterior(independent)
    assert standard_errors_off(epistemic_var(a, b), EPISTEMIC) < 5
    assert standard_errors_off(aleatoric_var(a, b), ALEATORIC) < 5


def test_the_variance_of_one_networks_quantiles_is_biased_by_the_epistemic_variance():
    a, _ = posterior(independent=True)
    assert standard_errors_off(a.var(-1, correction=0), ALEATORIC + EPISTEMIC * (1 - 1 / N)) < 5
    assert standard_errors_off(biased_aleatoric_var(a), ALEATORIC * N / (N - 1) + EPISTEMIC) < 5


def test_a_posterior_that_only_shifts_the_return_distribution_does_not_bias_it():
    a, _ = posterior(independent=False)
    assert torch.allclose(a.var(-1, correction=0), torch.tensor(ALEATORIC, dtype=torch.float64))


def test_equal_samples_have_no_epistemic_and_all_aleatoric_variance():
    assert epistemic_var(MEANS, MEANS).item() == 0
    assert aleatoric_var(MEANS, MEANS).item() == pytest.approx(ALEATORIC)


@pytest.mark.parametrize("n", [10, 50, 100])
def test_the_variance_of_the_estimators_falls_with_n_only_if_outputs_are_uncorrelated(n):
    generator = torch.Generator().manual_seed(2)
    means = torch.linspace(-3, 3, n, dtype=torch.float64)
    aleatoric = means.var(correction=0).item()
    noise = torch.randn(2, 10_000, n, generator=generator, dtype=torch.float64)
    a, b = means + S * noise
    # relative standard error of a variance of 10,000 nearly normal values: 1.4 to 1.6 %
    assert epistemic_var(a, b).var().item() == pytest.approx(2 * S**4 / n, rel=0.1)
    assert aleatoric_var(a, b).var().item() == pytest.approx(
        2 * S**2 * aleatoric / n + S**4 * (n - 1) / n**2, rel=0.1
    )
    a, b = means + S * noise[:, :, :1]  # all quantiles shift together
    # of a squared normal: 3.7 %
    assert epistemic_var(a, b).var().item() == pytest.approx(2 * S**4, rel=0.22)


def test_the_square_roots_are_biased_low():
    """Proposition 2.3 speaks of standard deviations; it holds for variances (Jensen)."""
    a, b = posterior(independent=False)
    std = epistemic_var(a, b).sqrt()
    assert std.mean().item() < S - 10 * std.std().item() / len(std) ** 0.5


def some_samples(count: int) -> torch.Tensor:
    """``[4, count, N]``: as many samples of four posteriors."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(4, count, N, generator=generator, dtype=torch.float64)


def test_the_total_variance_of_any_posterior_is_the_sum_of_both():
    samples = some_samples(7)
    both = posterior_epistemic_var(samples) + posterior_aleatoric_var(samples)
    assert torch.allclose(total_var(samples), both, rtol=1e-12)
    for one, expected in zip(samples, total_var(samples), strict=True):
        assert one.flatten().var(correction=0).item() == pytest.approx(expected.item())
    certain = samples[:, :1].expand(-1, 7, -1)  # "in the limit of infinite data"
    assert torch.allclose(total_var(certain), posterior_aleatoric_var(certain))
    ignorant = torch.cat([samples, -samples], dim=1)[..., :1].expand(-1, -1, N)  # "no data"
    assert torch.allclose(total_var(ignorant), posterior_epistemic_var(ignorant))


def test_two_sample_estimators_averaged_over_a_posteriors_pairs_are_its_variances():
    samples = some_samples(7)
    pairs = [(a, b) for a in samples.unbind(1) for b in samples.unbind(1)]  # drawn with replacement
    epistemic = sum(epistemic_var(a, b) for a, b in pairs) / 49
    aleatoric = sum(aleatoric_var(a, b) for a, b in pairs) / 49
    assert torch.allclose(epistemic, posterior_epistemic_var(samples))
    assert torch.allclose(aleatoric, posterior_aleatoric_var(samples))


def test_many_samples_are_worth_the_mean_over_their_pairs():
    samples = some_samples(5)
    pairs = list(combinations(samples.unbind(1), 2))
    epistemic = sum(epistemic_var(a, b) for a, b in pairs) / 10
    aleatoric = sum(aleatoric_var(a, b) for a, b in pairs) / 10
    assert torch.allclose(pairs_epistemic_var(samples), epistemic)
    assert torch.allclose(pairs_aleatoric_var(samples), aleatoric)
    a, b = samples[:, 0], samples[:, 1]
    assert torch.allclose(pairs_epistemic_var(samples[:, :2]), epistemic_var(a, b))
    assert torch.allclose(pairs_aleatoric_var(samples[:, :2]), aleatoric_var(a, b))
