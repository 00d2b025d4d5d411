"""Randomized prior functions: what is added, what stays, and what they are for."""

from typing import Any

import pytest
import torch
from gymnasium import spaces
from uqbench_dqn.bootstrapped import BootstrappedDQN
from uqbench_dqn.config import BootstrappedDQNConfig, RandomizedPriorConfig
from uqbench_dqn.randomized_prior import RandomizedPriorDQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import step_of_actors

CPU = torch.device("cpu")
INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, discount=0.9, total_steps=1_000)
SMALL: dict[str, Any] = {
    "hidden": (16,), "heads": 8, "learning_starts": 32, "learning_rate": 1e-2,
    "target_sync_period": 20}  # fmt: skip


def make(**settings: Any) -> RandomizedPriorDQN:
    return RandomizedPriorDQN(INFO, [3, 5], RandomizedPriorConfig(**SMALL | settings), CPU)


def trained(agent: BootstrappedDQN) -> BootstrappedDQN:
    """On state 0 of five, one-hot, whose actions pay 0, 1 and 2 and end the episode."""
    obs, ends = torch.eye(5)[:1].expand(2, 5), torch.ones(2, dtype=torch.bool)
    for t in range(400):
        action = torch.full((2,), t % 3)
        agent.observe(step_of_actors(obs, action, action.float(), ends, ~ends, obs))
    return agent


@pytest.mark.parametrize("center", ["none", "actions"])
def test_values_are_the_heads_plus_beta_times_their_priors(center):
    """Whose mean over actions may be zero."""
    agent = make(prior_scale=2.5, prior_center=center)
    obs = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(0))
    heads, priors = agent.online.heads(obs), agent.online.priors(obs)
    assert not torch.allclose(heads, priors)  # drawn apart
    priors = priors - priors.mean(-2, keepdim=True) if center == "actions" else priors
    assert torch.equal(agent.online(obs), heads + 2.5 * priors)
    head = torch.tensor([[0, 7, 3, 3, 1, 2, 5], [4, 4, 0, 6, 2, 1, 7]])
    alone = agent.online.of_heads(obs, head)
    among = agent.online(obs).gather(-1, head[..., None, None].expand(-1, -1, 3, 1)).squeeze(-1)
    torch.testing.assert_close(alone, among)


def test_the_target_has_the_priors_too_and_no_prior_is_trained():
    agent = make()
    before = [weight.clone() for weight in agent.online.priors.parameters()]
    learned = [weight.clone() for weight in agent.online.heads.parameters()]
    trained(agent)
    for network in (agent.online, agent.target):
        for now, then in zip(network.priors.parameters(), before, strict=True):
            assert torch.equal(now, then)
    assert not torch.equal(next(agent.online.heads.parameters()), learned[0])
    assert len(agent.optimizer.parameters) == len(learned)


def test_perturbed_targets_are_kept_and_leave_the_width_of_a_mean_of_noisy_rewards():
    """σ = 4 over the root of 133 rewards of each action, where masks of ones leave nothing."""
    settings = SMALL | {"noise_std": 4.0, "kappa": 1e3, "batch_size": 64, "heads": 40}
    agent = trained(BootstrappedDQN(INFO, [3, 5], BootstrappedDQNConfig(**settings), CPU))
    index = torch.arange(300).expand(2, -1)
    batch, again = (agent.minibatch(index) for _ in range(2))
    noise = agent.bellman_target(batch) - batch["reward"][..., None]
    assert torch.equal(batch["perturbation"], again["perturbation"])
    torch.testing.assert_close(noise, batch["perturbation"], atol=1e-5, rtol=1e-5)
    assert noise.std().item() == pytest.approx(4.0, rel=0.05)
    assert noise.std(-1).mean().item() == pytest.approx(4.0, rel=0.05)  # heads apart
    width = agent.uncertainty(torch.eye(5).expand(2, 5, 5)).epistemic_var.sqrt()[:, 0]
    assert (4 / 133**0.5) / 2 < width.mean() < (4 / 133**0.5) * 2
