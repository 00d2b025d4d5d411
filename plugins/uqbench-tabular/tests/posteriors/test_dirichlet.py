"""The Dirichlet: moments of its samples, and the variance of expectations in closed form."""

import numpy as np
import torch
from uqbench_tabular.posteriors.dirichlet import dirichlet_sample, variance_of_expectation

N = 40_000
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors: a normal one is farther once in 1.7 million,
and the seeds are fixed."""


def test_dirichlet_samples_have_the_moments_of_the_closed_form(generator):
    """E = c_i/n, Cov = (δ_ij c_i/n − c_i c_j/n²)/(n + 1)."""
    c = np.array([[1.0, 2.0, 5.0], [0.5, 0.5, 0.5]])
    samples = dirichlet_sample(torch.from_numpy(c)[None], [generator()], N)[0].numpy()
    assert samples.shape == (N, 2, 3)
    assert np.allclose(samples.sum(-1), 1)
    n = c.sum(-1, keepdims=True)
    mean = c / n
    for row in range(2):
        cov = (np.diag(mean[row]) - np.outer(mean[row], mean[row])) / (n[row] + 1)
        errors = np.sqrt(np.diag(cov) / N)
        assert (np.abs(samples[:, row].mean(0) - mean[row]) < SIGMAS * errors).all()
        centered = samples[:, row] - mean[row]
        products = centered[:, :, None] * centered[:, None, :]
        errors = products.std(0) / np.sqrt(N)
        assert (np.abs(products.mean(0) - cov) < SIGMAS * errors).all()


def test_the_variance_of_an_expectation_is_that_of_samples(generator):
    """``Var_p[Σ p x]`` in closed form, against 40 000 draws of p."""
    c = torch.tensor([[[1.0, 2.0, 5.0], [0.5, 0.5, 0.5]]], dtype=torch.float64)
    x = torch.tensor([[[3.0, -1.0, 0.5], [1e3, 1e3 + 1, 1e3 - 2]]], dtype=torch.float64)
    drawn = (dirichlet_sample(c, [generator(4)], N) * x[:, None]).sum(-1)[0]
    squares = (drawn - drawn.mean(0)) ** 2
    error = squares.std(0) / N**0.5
    given = variance_of_expectation(c, x)[0]
    assert ((squares.mean(0) - given).abs() < SIGMAS * error).all()
    assert (variance_of_expectation(c, torch.full_like(x, 7.0)) < 1e-25).all()
