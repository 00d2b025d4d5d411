"""C51, its projection and the quantile loss: what they compute, against plain formulas."""

from dataclasses import replace

import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from uqbench_dqn.c51 import C51
from uqbench_dqn.categorical import project, support
from uqbench_dqn.config import C51Config, QRDQNConfig
from uqbench_dqn.qr_dqn import QRDQN
from uqbench_dqn.quantiles import midpoint_levels, quantile_loss

from uqbench.agent import EnvironmentInfo
from uqbench.risk import CVaR, MarginalRisk
from uqbench.testing.worlds import transitions

CPU = torch.device("cpu")
INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
SMALL = C51Config(
    hidden=(9, 7), atoms=11, batch_size=6, learning_starts=10, target_sync_period=25,
    replay_capacity=50, learning_rate=1e-2, epsilon_decay_steps=60)  # fmt: skip


QUANTILES = QRDQNConfig(hidden=(9, 7), quantiles=11)


@pytest.mark.parametrize(("kind", "config"), [(C51, SMALL), (QRDQN, QUANTILES)])
def test_the_return_distribution_is_predicted_with_its_moments(kind, config):
    agent = kind(INFO, [5, 2], config, CPU)
    said = agent.uncertainty(torch.randn(2, 12, 5, generator=torch.Generator().manual_seed(0)))
    assert said.return_atoms.shape == said.return_probs.shape == (2, 12, 3, 11)
    torch.testing.assert_close(said.return_probs.sum(-1), torch.ones(2, 12, 3))
    mean = (said.return_probs * said.return_atoms).sum(-1)
    square = (said.return_probs * said.return_atoms.square()).sum(-1)
    torch.testing.assert_close(said.mean, mean)
    torch.testing.assert_close(said.aleatoric_var, square - mean**2, rtol=1e-3, atol=1e-3)
    assert said.epistemic_var is None


@pytest.mark.parametrize("risk", [None, CVaR(0.3)])
def test_targets_are_projected_returns_of_the_action_that_the_mean_or_a_risk_prefers(risk):
    """Algorithm 1; the policy prefers it, too."""
    rule = None if risk is None else MarginalRisk(risk)
    agent = C51(INFO, [5, 2], replace(SMALL, risk=rule), CPU)
    for step in transitions([5, 2], (5,), 3, 40):
        agent.observe(replace(step, action=agent.act(step.obs)))
    batch, z = agent.replay.gather(torch.arange(12).expand(2, -1)), agent.support
    assert batch["terminated"].any()

    def best(laws: Tensor) -> Tensor:
        worth = (laws * z).sum(-1) if risk is None else risk(z.expand_as(laws), laws)
        return worth.argmax(-1)

    assert torch.equal(agent.policy(batch["obs"]), best(agent.online(batch["obs"]).softmax(-1)))
    after = agent.target(batch["next_obs"]).softmax(-1)
    chosen = after.gather(-2, best(after)[..., None, None].expand(2, 12, 1, 11)).squeeze(-2)
    values = batch["reward"][..., None] + 0.9 * ~batch["terminated"][..., None] * z
    torch.testing.assert_close(agent.bellman_target(batch), project(values, chosen, z))


ATOMS = support(21, -3.0, 7.0)
distributions = (
    st.lists(st.integers(0, 20), min_size=6, max_size=6)
    .filter(any)
    .map(lambda counts: torch.tensor(counts, dtype=torch.float32) / sum(counts))
)
values = st.lists(st.floats(-9, 13, width=32), min_size=6, max_size=6).map(torch.tensor)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(z=values, p=distributions)
def test_projection_is_equation_7(z, p):
    share = 1 - (z.clamp(-3, 7) - ATOMS[:, None]).abs() / 0.5
    expected = (share.clamp(0, 1) * p).sum(-1)
    torch.testing.assert_close(project(z, p, ATOMS), expected, atol=1e-5, rtol=0)


def test_one_row_of_values_serves_many_laws():
    p = torch.rand(4, 3, 21, generator=torch.Generator().manual_seed(0)).softmax(-1)
    shifted = 0.9 * ATOMS + 1
    every = torch.stack([project(shifted, one, ATOMS) for one in p.flatten(0, 1)]).view(4, 3, 21)
    torch.testing.assert_close(project(shifted.expand(4, 1, 21), p, ATOMS), every)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def levels(n: int) -> Tensor:
    return midpoint_levels(n).double()


def huber(u: float, kappa: float) -> float:
    if kappa == 0:
        return abs(u)
    return 0.5 * u * u if abs(u) <= kappa else kappa * (abs(u) - 0.5 * kappa)


def literal(quantiles: list[float], samples: list[float], taus: list[float], kappa: float) -> float:
    """``Σ_i 1/S Σ_j |τ_i − 1[z_j < q_i]| L_κ(z_j − q_i)``."""
    pairs = [(q, tau, z) for q, tau in zip(quantiles, taus, strict=True) for z in samples]
    return sum(abs(tau - (z < q)) * huber(z - q, kappa) / len(samples) for q, tau, z in pairs)


@pytest.mark.parametrize(
    ("n", "expected"), [(1, [0.5]), (2, [0.25, 0.75]), (5, [0.1, 0.3, 0.5, 0.7, 0.9])]
)
def test_levels_are_the_midpoints_of_n_equal_parts(n, expected):
    torch.testing.assert_close(midpoint_levels(n), torch.tensor(expected))


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0, 10.0])
@pytest.mark.parametrize(("n", "samples"), [(1, 1), (3, 5), (50, 50), (4, 1)])
def test_is_a_double_loop_over_quantiles_and_samples_in_every_leading_dimension(kappa, n, samples):
    q, z, tau = normal(2, 3, n), 2 * normal(2, 3, samples, seed=1), levels(n)
    found = quantile_loss(q, z, tau, kappa).flatten().tolist()
    pairs = zip(q.flatten(0, 1).tolist(), z.flatten(0, 1).tolist(), strict=True)
    expected = [literal(one, other, tau.tolist(), kappa) for one, other in pairs]
    assert found == pytest.approx(expected, rel=1e-12)
