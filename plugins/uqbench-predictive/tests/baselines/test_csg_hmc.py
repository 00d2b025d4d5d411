"""Cyclical SG-HMC."""

from dataclasses import replace

import pytest
import torch
from uqbench_predictive.baselines.csg_hmc import (
    CyclicalSGHMC,
    CyclicalSGHMCConfig,
    kept_iterations,
    step_size,
)

CPU = torch.device("cpu")


def test_the_step_size_falls_by_a_cosine_in_every_cycle_and_models_are_kept_late_in_it():
    config = CyclicalSGHMCConfig(
        iterations=100, cycles=2, step_size=0.4, exploration=0.8, samples=10
    )
    assert step_size(config, 0) == (0.4, 0.0)
    assert step_size(config, 25)[0] == pytest.approx(0.2)
    assert step_size(config, 50)[0] == 0.4
    kept = kept_iterations(config)
    assert len(kept) == 10
    assert all(step_size(config, k)[1] >= 0.8 for k in kept)
    assert kept_iterations(replace(config, samples=1000)) == {*range(40, 50), *range(90, 100)}


def test_the_kept_models_have_the_exact_posterior_of_a_linear_regression(toy, points):
    # p(w|D)^(1/T) for T = 1/n has the precision 2 ΦᵀΦ + n λ. Sixteen chains of about 60 independent
    # draws each: the standard error of a variance is below 5 %, of a mean 0.04 of a deviation
    task, chains = toy(0), 16
    config = CyclicalSGHMCConfig(
        hidden=(), iterations=2_500, cycles=2, step_size=2e-2, exploration=0.0, friction=0.1,
        samples=1_250, weight_decay=0.5,
    )  # fmt: skip
    sampler = CyclicalSGHMC(task.problem, range(chains), config, CPU)
    data = task.data([3] * chains)
    sampler.fit(data, None, steps=50)
    said = sampler.predict(points.expand(chains, -1, -1))
    phi = torch.cat([data.inputs[0], torch.ones(24, 1)], 1).double()
    x = torch.cat([points, torch.ones(7, 1)], 1).double()
    covariance = torch.linalg.inv(2 * phi.T @ phi + 24 * 0.5 * torch.eye(3))
    mean = x @ covariance @ (2 * phi.T @ data.targets[0].double())
    variance = (x @ covariance * x).sum(-1)
    center = said.mean.mean(0)
    pooled = said.epistemic.mean(0) + (said.mean - center).square().mean(0)
    assert ((center - mean).abs() < 0.15 * variance.sqrt()).all()
    assert torch.allclose(pooled, variance, rtol=0.15)
