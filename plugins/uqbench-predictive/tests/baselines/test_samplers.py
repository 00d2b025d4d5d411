"""HMC, cyclical SG-HMC and SWAG against exact posteriors; agreement of chains."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines import csg_hmc
from uqbench_predictive.baselines.csg_hmc import CyclicalSGHMC, CyclicalSGHMCConfig
from uqbench_predictive.baselines.hmc import HMC, HMCConfig
from uqbench_predictive.baselines.swag import SWAG, Moments, SWAGConfig
from uqbench_predictive.problems.diagnostics import bulk_ess, halves, r_hat, tail_ess

from uqbench.estimator import Data

LANES = 20_000


def test_hmc_samples_the_posterior_of_a_linear_regression(toy, points, fit, line):
    # 2 chains × 400 states; the standard error of a mean is below a tenth of the posterior's std
    task = toy(0)
    config = HMCConfig(
        hidden=(), chains=2, burn_in=50, iterations=400, leapfrog=20, step_size=0.05,
        noise_precision=2.0)  # fmt: skip
    chains = fit(HMC, config, task, seeds=[3])
    assert chains.acceptance.min() > 0.8
    mean, variance = line(task.data([3]), 2.0, 1.0)
    said = chains.predict(points[None])
    assert ((said.mean[0] - mean).abs() < 0.4 * variance.sqrt()).all()
    assert torch.allclose(said.epistemic[0], variance, rtol=0.35)


def resonant(fit, toy, jitter: float) -> tuple[torch.Tensor, torch.Tensor]:
    """States ``[chains, draws, 4]`` and variances of a line whose modes have a half period of εL.

    Three orthogonal inputs: the curvature is 36, its frequency 6, and 6 · 0.5 = 0.957 π.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 3, generator=generator)
    x = torch.linalg.qr(x - x.mean(0)).Q * 3.5**0.5
    y = x @ torch.tensor([5.0, -5.0, 2.5]) + 0.3 * torch.randn(40, generator=generator)
    task = toy(0)
    task.inputs = (3,)
    config = HMCConfig(
        hidden=(), chains=4, burn_in=50, iterations=500, leapfrog=25, step_size=0.02, jitter=jitter
    )
    chains = fit(HMC, config, task, Data(x[None], y[None]), seeds=[0])
    assert chains.acceptance.min() > 0.9
    states = [chains.sample.weights[name].flatten(1) for name in ("head.weight", "head.bias")]
    phi = torch.cat([x, torch.ones(40, 1)], 1).double()
    exact = torch.linalg.inv(10 * phi.T @ phi + torch.eye(4)).diagonal()
    return torch.cat(states, 1).double().unflatten(0, (4, 500)), exact


def test_diagnostics_reject_trajectories_of_half_a_period_and_jitter_mends_them(fit, toy):
    states, exact = resonant(fit, toy, jitter=0.0)
    assert (states.flatten(0, 1).var(0) / exact).max() > 5
    assert r_hat(states.numpy()).max() > 1.1
    assert tail_ess(states.numpy()).min() < 200
    assert bulk_ess(states.numpy()).min() > 1_900  # the draws alternate about the mean
    states, exact = resonant(fit, toy, jitter=HMCConfig().jitter)
    # of about 300 independent draws the variance is known to 8 %
    assert (states.flatten(0, 1).var(0) / exact).tolist() == pytest.approx([1] * 4, abs=0.35)
    assert r_hat(states.numpy()).max() < 1.05


def test_the_step_size_falls_by_a_cosine_in_every_cycle_and_models_are_kept_late_in_it():
    given = {"iterations": 100, "cycles": 2, "step_size": 0.4, "exploration": 0.8}
    config = CyclicalSGHMCConfig(samples=10, **given)
    assert csg_hmc.step_size(config, 0) == (0.4, 0.0)
    assert csg_hmc.step_size(config, 25)[0] == pytest.approx(0.2)
    assert csg_hmc.step_size(config, 50)[0] == 0.4
    kept = csg_hmc.kept_iterations(config)
    assert len(kept) == 10
    assert all(csg_hmc.step_size(config, k)[1] >= 0.8 for k in kept)
    every = csg_hmc.kept_iterations(replace(config, samples=1000))
    assert every == {*range(40, 50), *range(90, 100)}


def test_the_kept_models_have_the_exact_posterior_of_a_linear_regression(toy, points, fit, line):
    # p(w|D)^(1/T) for T = 1/n has the precision 2 ΦᵀΦ + n λ. Sixteen chains of about 60 independent
    # draws each: the standard error of a variance is below 5 %, of a mean 0.04 of a deviation
    task, chains = toy(0), 16
    config = CyclicalSGHMCConfig(
        hidden=(), iterations=2_500, cycles=2, step_size=2e-2, exploration=0.0, friction=0.1,
        samples=1_250, weight_decay=0.5)  # fmt: skip
    data = task.data([3] * chains)
    sampler = fit(CyclicalSGHMC, config, task, data, seeds=range(chains), steps=50)
    said = sampler.predict(points.expand(chains, -1, -1))
    mean, variance = line(data, 2.0, 24 * 0.5)
    center = said.mean.mean(0)
    pooled = said.epistemic.mean(0) + (said.mean - center).square().mean(0)
    assert ((center - mean).abs() < 0.15 * variance.sqrt()).all()
    assert torch.allclose(pooled, variance, rtol=0.15)


def test_draws_have_the_mean_of_the_states_and_half_of_both_covariances():
    """Standard errors of 20,000 draws: of a mean 0.007 deviations, of a covariance 1 %."""
    root = np.array([[1.0, 0.9, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 2.0]])
    states = np.random.default_rng(4).normal(size=(12, 3)) @ root
    moments = Moments(rank=5)
    for state in states:
        moments.add(torch.from_numpy(state).expand(LANES, 3))
    drawn = moments.draw([torch.Generator().manual_seed(k) for k in range(LANES)])
    running = [states[: k + 1].mean(0) for k in range(12)]
    deviations = (states - running)[-5:]
    expected = 0.5 * (np.diag(states.var(0)) + deviations.T @ deviations / 4)
    scale = np.sqrt(np.diag(expected))
    assert (np.abs(drawn.numpy().mean(0) - states.mean(0)) < 0.04 * scale).all()
    error = np.abs(np.cov(drawn.numpy().T) - expected) / np.outer(scale, scale)
    assert (error < 0.05).all()


def test_swag_ends_where_the_loss_is_least_or_with_few_rows_around(toy, points, fit, line):
    task, said = toy(0), {}
    for batch in (None, 6):
        config = SWAGConfig(
            hidden=(), weight_decay=0.5, iterations=600, step_size=0.05, states=20,
            descent_batch_size=batch)  # fmt: skip
        said[batch] = fit(SWAG, config, task, seeds=[3], steps=300).predict(points[None])
    least, _ = line(task.data([3]), 2.0, 24 * 0.5)
    assert said[None].mean[0].tolist() == pytest.approx(least.tolist(), abs=1e-2)
    assert said[None].epistemic.max() < 1e-4
    assert (said[6].epistemic > 10 * said[None].epistemic.max()).all()


def test_fewer_than_two_deviations_have_no_covariance():
    with pytest.raises(ValueError, match=r"2 ≤ rank ≤ states; got 1000, 30, 20 and 10"):
        SWAGConfig(states=10)


def test_an_odd_number_of_draws_loses_the_last():
    assert halves(np.arange(5.0)[None]).tolist() == [[0, 1], [2, 3]]


def disagreeing(correlation: float, scale: float, shift: float) -> np.ndarray:
    """Four autoregressive chains of 1,000 draws; the first has another width and place."""
    draws = np.random.default_rng(7).normal(size=(4, 1_000))
    for t in range(1, 1_000):
        draws[:, t] += correlation * draws[:, t - 1]
    draws[0] = scale * draws[0] + shift
    return draws


OF_ARVIZ = [
    ((0.0, 1, 0), 1.0020993, 3820.63, 3919.20),  # independent
    ((0.0, 3, 0), 1.1112927, 3833.63, 31.75),  # wide
    ((0.9, 1, 0), 1.0232649, 181.53, 485.97),  # slow
    ((0.9, 2, 0), 1.0779412, 154.25, 56.32),
    ((0.0, 1, 1), 1.0888242, 28.90, 261.39),  # apart
    ((-0.4, 1, 0), 1.0001986, 8842.62, 3994.90),  # swinging
]


@pytest.mark.parametrize(("how", "rhat", "bulk", "tail"), OF_ARVIZ)
def test_the_numbers_are_those_of_arviz(how, rhat, bulk, tail):
    """arviz-stats 0.8.0, to all digits that are written here."""
    chains = disagreeing(*how)
    assert r_hat(chains) == pytest.approx(rhat, abs=1e-7)
    assert bulk_ess(chains) == pytest.approx(bulk, abs=0.01)
    assert tail_ess(chains) == pytest.approx(tail, abs=0.01)
