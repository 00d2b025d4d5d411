"""The normal-gamma: its Student t distributions, by quantiles and by samples."""

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.posteriors.normal_gamma import (
    NormalGamma,
    marginal_of_mean,
    normal_gamma_update,
    predictive,
    sample_mean,
    student_t,
    variance_of_mean,
)

N = 40_000
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors: a normal one is farther once in 1.7 million,
and the seeds are fixed."""


def test_sampled_mean_rewards_have_the_moments_of_student_t(generator):
    """Var μ = β / (λ (α − 1)); for the paper's prior 3/8."""
    prior = NormalGamma(*(torch.tensor([v], dtype=torch.float64) for v in (0.0, 4.0, 3.0, 3.0)))
    after = normal_gamma_update(prior, torch.tensor([2.0], dtype=torch.float64))
    for parameters, mean, var in ((prior, 0.0, 0.375), (after, 0.4, 4.6 / (5 * 2.5))):
        samples = sample_mean(parameters, [generator()], N)[0].numpy()
        assert abs(samples.mean() - mean) < SIGMAS * np.sqrt(var / N)
        squares = (samples - mean) ** 2
        assert abs(squares.mean() - var) < SIGMAS * squares.std() / np.sqrt(N)


def test_student_t_variables_are_scipys(generator):
    """A Kolmogorov-Smirnov test a number of degrees; 1e-4 is its error rate."""
    for seed, freedom in enumerate((2.0, 2.5, 7.0, 400.0)):
        u = torch.from_numpy(generator(seed).random((20_000, 2), dtype=np.float32))
        t = student_t(u, torch.tensor(freedom, dtype=torch.float64))
        assert stats.kstest(t.numpy(), stats.t(freedom).cdf).pvalue > 1e-4


def test_marginal_and_predictive_are_the_known_student_t_distributions():
    """Quantiles against scipy's, with location and scale in closed form; scale 1/2 of the prior."""
    model = NormalGamma(*(torch.tensor(v, dtype=torch.float64) for v in (1.0, 4.0, 3.0, 3.0)))
    t = torch.tensor(stats.t(6).ppf(0.9))
    assert marginal_of_mean(model, t).item() == pytest.approx(stats.t(6, 1.0, 0.5).ppf(0.9))
    scale = (3 * 5 / (4 * 3)) ** 0.5
    assert predictive(model, t).item() == pytest.approx(stats.t(6, 1.0, scale).ppf(0.9))
    assert variance_of_mean(model).item() == pytest.approx(stats.t(6, 1.0, 0.5).var()) == 0.375
