"""Facts about the estimators: Propositions 2.1 to 2.3 of Clements et al. 2019."""

from itertools import combinations, product

import torch
from uqbench_uadqn import uncertainty as of

N = 50


def some_samples(count: int) -> torch.Tensor:
    """``[4, count, N]``: as many samples of four posteriors."""
    return torch.randn(4, count, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_the_total_variance_of_any_posterior_is_the_sum_of_both():
    samples = some_samples(7)
    epistemic = samples.var(1, correction=0).mean(-1)
    aleatoric = samples.mean(1).var(-1, correction=0)
    assert torch.allclose(of.posterior_epistemic_var(samples), epistemic)
    assert torch.allclose(of.posterior_aleatoric_var(samples), aleatoric)
    assert torch.allclose(of.total_var(samples), epistemic + aleatoric, rtol=1e-12)
    certain = samples[:, :1].expand(-1, 7, -1)  # "in the limit of infinite data"
    assert torch.allclose(of.total_var(certain), of.posterior_aleatoric_var(certain))
    ignorant = torch.cat([samples, -samples], dim=1)[..., :1].expand(-1, -1, N)  # "no data"
    assert torch.allclose(of.total_var(ignorant), of.posterior_epistemic_var(ignorant))


def test_two_sample_estimators_are_unbiased_over_the_pairs_of_any_posterior():
    """With outputs that are correlated or not; of one network's quantiles the variance is not."""
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
