"""HMC against exact posteriors, and its energy."""

import pytest
import torch
from uqbench_predictive.baselines.hmc import HMC, HMCConfig, Posterior
from uqbench_predictive.networks.architectures import Mlp, initial_weights
from uqbench_predictive.networks.learning import Stack
from uqbench_predictive.problems.diagnostics import bulk_ess, r_hat, tail_ess

from uqbench.estimator import Data
from uqbench.lanes import lane_generators

CPU = torch.device("cpu")
NETWORK = Mlp(2, (8,), 3)
SMALL = {"hidden": (8,)}


def test_hmc_conserves_energy_to_second_order_and_its_gradient_is_that_of_the_energy(toy):
    data = toy().data([1])
    start = initial_weights(NETWORK, lane_generators([0]))

    def error(step: float) -> float:
        stack = Stack(start)
        config = HMCConfig(leapfrog=round(0.2 / step), step_size=step, **SMALL)
        posterior = Posterior(NETWORK, stack, data, config)
        momentum = torch.randn(stack.flat.shape, generator=torch.Generator().manual_seed(1))
        momentum *= posterior._moves
        before = posterior.energy() + 0.5 * momentum.double().square().sum(-1)
        momentum -= step / 2 * posterior._gradient()
        for k in range(config.leapfrog):
            stack.flat.add_(step * momentum)
            last = k == config.leapfrog - 1
            momentum -= (step / 2 if last else step) * posterior._gradient()
        after = posterior.energy() + 0.5 * momentum.double().square().sum(-1)
        return abs((after - before).item())

    assert error(0.02) < 0.1
    assert error(0.005) < error(0.02) / 4


def test_hmc_samples_the_posterior_of_a_linear_regression(toy, points):
    # 2 chains × 400 states; the standard error of a mean is below a tenth of the posterior's std
    task = toy(0)
    config = HMCConfig(
        hidden=(), chains=2, burn_in=50, iterations=400, leapfrog=20, step_size=0.05,
        noise_precision=2.0,
    )  # fmt: skip
    chains = HMC(task.problem, [3], config, CPU)
    chains.fit(task.data([3]), None, steps=1)
    assert chains.acceptance.min() > 0.8
    phi = torch.cat([task.data([3]).inputs[0], torch.ones(24, 1)], 1).double()
    x = torch.cat([points, torch.ones(7, 1)], 1).double()
    covariance = torch.linalg.inv(2.0 * phi.T @ phi + torch.eye(3))
    mean = covariance @ (2.0 * phi.T @ task.data([3]).targets[0].double())
    variance = (x @ covariance * x).sum(-1)
    said = chains.predict(points[None])
    assert ((said.mean[0] - x @ mean).abs() < 0.4 * variance.sqrt()).all()
    assert torch.allclose(said.epistemic[0], variance, rtol=0.35)


def resonant(toy, jitter: float) -> tuple[torch.Tensor, torch.Tensor]:
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
    chains = HMC(task.problem, [0], config, CPU)
    chains.fit(Data(x[None], y[None]), None, steps=1)
    assert chains.acceptance.min() > 0.9
    states = [chains.sample.weights[name].flatten(1) for name in ("head.weight", "head.bias")]
    phi = torch.cat([x, torch.ones(40, 1)], 1).double()
    exact = torch.linalg.inv(10 * phi.T @ phi + torch.eye(4)).diagonal()
    return torch.cat(states, 1).double().unflatten(0, (4, 500)), exact


def test_diagnostics_reject_trajectories_of_half_a_period_and_jitter_mends_them(toy):
    states, exact = resonant(toy, jitter=0.0)
    assert (states.flatten(0, 1).var(0) / exact).max() > 5
    assert r_hat(states.numpy()).max() > 1.1
    assert tail_ess(states.numpy()).min() < 200
    assert bulk_ess(states.numpy()).min() > 1_900  # the draws alternate about the mean
    states, exact = resonant(toy, jitter=HMCConfig().jitter)
    # of about 300 independent draws the variance is known to 8 %
    assert (states.flatten(0, 1).var(0) / exact).tolist() == pytest.approx([1] * 4, abs=0.35)
    assert r_hat(states.numpy()).max() < 1.05
