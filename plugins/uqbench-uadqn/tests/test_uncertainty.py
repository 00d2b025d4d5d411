"""Facts about the estimators: Propositions 2.1 to 2.3 of Clements et al. 2019."""

from itertools import combinations, product

import pytest
import torch
from uqbench_uadqn import uncertainty as of

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
    assert standard_errors_off(of.epistemic_var(a, b), EPISTEMIC) < 5
    assert standard_errors_off(of.aleatoric_var(a, b), ALEATORIC) < 5


def test_the_variance_of_one_networks_quantiles_is_biased_by_the_epistemic_variance():
    a, _ = posterior(independent=True)
    assert standard_errors_off(of.biased_aleatoric_var(a), ALEATORIC * N / (N - 1) + EPISTEMIC) < 5


@pytest.mark.parametrize("n", [10, 50, 100])
def test_the_variance_of_the_estimators_falls_with_n_only_if_outputs_are_uncorrelated(n):
    generator = torch.Generator().manual_seed(2)
    means = torch.linspace(-3, 3, n, dtype=torch.float64)
    aleatoric = means.var(correction=0).item()
    noise = torch.randn(2, 10_000, n, generator=generator, dtype=torch.float64)
    a, b = means + S * noise
    # relative standard error of a variance of 10,000 nearly normal values: 1.4 to 1.6 %
    assert of.epistemic_var(a, b).var().item() == pytest.approx(2 * S**4 / n, rel=0.1)
    expected = 2 * S**2 * aleatoric / n + S**4 * (n - 1) / n**2
    assert of.aleatoric_var(a, b).var().item() == pytest.approx(expected, rel=0.1)
    a, b = means + S * noise[:, :, :1]  # all quantiles shift together
    # of a squared normal: 3.7 %
    assert of.epistemic_var(a, b).var().item() == pytest.approx(2 * S**4, rel=0.22)


def some_samples(count: int) -> torch.Tensor:
    """``[4, count, N]``: as many samples of four posteriors."""
    return torch.randn(4, count, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_the_total_variance_of_any_posterior_is_the_sum_of_both():
    samples = some_samples(7)
    both = of.posterior_epistemic_var(samples) + of.posterior_aleatoric_var(samples)
    assert torch.allclose(of.total_var(samples), both, rtol=1e-12)
    for one, expected in zip(samples, of.total_var(samples), strict=True):
        assert one.flatten().var(correction=0).item() == pytest.approx(expected.item())
    certain = samples[:, :1].expand(-1, 7, -1)  # "in the limit of infinite data"
    assert torch.allclose(of.total_var(certain), of.posterior_aleatoric_var(certain))
    ignorant = torch.cat([samples, -samples], dim=1)[..., :1].expand(-1, -1, N)  # "no data"
    assert torch.allclose(of.total_var(ignorant), of.posterior_epistemic_var(ignorant))


def test_two_sample_estimators_averaged_over_a_posteriors_pairs_are_its_variances():
    samples = some_samples(7)
    a, b = zip(*product(samples.unbind(1), repeat=2), strict=True)  # drawn with replacement
    a, b = torch.stack(a), torch.stack(b)
    assert torch.allclose(of.epistemic_var(a, b).mean(0), of.posterior_epistemic_var(samples))
    assert torch.allclose(of.aleatoric_var(a, b).mean(0), of.posterior_aleatoric_var(samples))


def test_many_samples_are_worth_the_mean_over_their_pairs():
    samples = some_samples(5)
    a, b = zip(*combinations(samples.unbind(1), 2), strict=True)
    a, b = torch.stack(a), torch.stack(b)
    assert torch.allclose(of.pairs_epistemic_var(samples), of.epistemic_var(a, b).mean(0))
    assert torch.allclose(of.pairs_aleatoric_var(samples), of.aleatoric_var(a, b).mean(0))
    a, b = samples[:, 0], samples[:, 1]
    assert torch.allclose(of.pairs_epistemic_var(samples[:, :2]), of.epistemic_var(a, b))
    assert torch.allclose(of.pairs_aleatoric_var(samples[:, :2]), of.aleatoric_var(a, b))
