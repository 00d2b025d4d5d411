"""Facts about the estimators: Propositions 2.1 to 2.3 of Clements et al. 2019."""

from __future__ import annotations

import pytest
import torch
from uqbench_uadqn.uncertainty import aleatoric_var, biased_aleatoric_var, epistemic_var

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


def test_a_posterior_that_only_shifts_the_law_does_not_bias_it():
    a, _ = posterior(independent=False)
    assert torch.allclose(a.var(-1, correction=0), torch.tensor(ALEATORIC, dtype=torch.float64))


def test_the_estimators_vary_as_their_closed_forms_say():
    a, b = posterior(independent=True)
    epistemic = 2 * S**4 / N
    aleatoric = 2 * S**2 * ALEATORIC / N + S**4 * (N - 1) / N**2
    # a sample variance of 40,000 values has a relative standard error near 1 %; 6 % is 6 of them
    assert epistemic_var(a, b).var().item() == pytest.approx(epistemic, rel=0.06)
    assert aleatoric_var(a, b).var().item() == pytest.approx(aleatoric, rel=0.06)


def test_with_correlated_outputs_the_variance_does_not_fall_with_n():
    a, b = posterior(independent=False)
    # the square of a normal has heavy tails: relative standard error 2 %
    assert epistemic_var(a, b).var().item() == pytest.approx(2 * S**4, rel=0.12)


def test_equal_samples_have_no_epistemic_and_all_aleatoric_variance():
    assert epistemic_var(MEANS, MEANS).item() == 0
    assert aleatoric_var(MEANS, MEANS).item() == pytest.approx(ALEATORIC)


def test_total_variance_is_the_sum_of_both_for_any_set_of_samples():
    y = torch.randn(7, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    epistemic = y.var(0, correction=0).mean()
    aleatoric = y.mean(0).var(correction=0)
    assert y.var(correction=0).item() == pytest.approx((epistemic + aleatoric).item())
    pairs = [(a, b) for a in y for b in y]  # the two-sample estimators, averaged over all pairs
    assert sum(epistemic_var(a, b) for a, b in pairs) / 49 == pytest.approx(epistemic.item())
    assert sum(aleatoric_var(a, b) for a, b in pairs) / 49 == pytest.approx(aleatoric.item())
