"""Epinet and hypermodel: networks, one update by another program, lanes and capture."""

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_posteriors.config import EpinetConfig, HypermodelConfig
from uqbench_posteriors.epinet import EpinetDQN
from uqbench_posteriors.hypermodel import HypermodelDQN
from uqbench_posteriors.indexed import IndexedQ

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import act, step_of_actors, transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {
    "hidden": (6,), "learning_starts": 500, "batch_size": 8, "indices": 3, "index_size": 2,
    "samples": 5, "learning_rate": 1e-2, "adam_epsilon": 1e-3}  # fmt: skip
KINDS = ["epinet", "hypermodel"]


def make(kind: str, seeds: Any = (4,), **settings: Any) -> IndexedQ:
    if kind == "epinet":
        config = EpinetConfig(**SMALL | {"prior_scale": 0.7, "epinet_hidden": (5,)} | settings)
        agent = EpinetDQN(FLAT, seeds, config, CPU)
        last = agent.online.learned.layers[-1].weight  # as learned, where it starts at zero
        assert not last.any()
        last.data.normal_(generator=torch.Generator().manual_seed(sum(seeds)))
        agent.target.load_state_dict(agent.online.state_dict())
        return agent
    return HypermodelDQN(FLAT, seeds, HypermodelConfig(**SMALL | settings), CPU)


def mlp(x: Tensor, layers: Any, at: Any) -> Tensor:
    """One network's outputs, layer by layer."""
    for number, layer in enumerate(layers):
        x = x @ layer.weight[at] + layer.bias[at]
        x = x if number == len(layers) - 1 else x.relu()
    return x


def value(agent: IndexedQ, network: Any, obs: Tensor, z: Tensor) -> Tensor:
    """``f(s, z)`` ``[A]`` of one state of lane 0 and one index, by its definition."""
    if isinstance(agent, EpinetDQN):
        (first, last) = network.base.layers
        features = (obs @ first.weight[0] + first.bias[0]).relu()
        mean = features @ last.weight[0] + last.bias[0]
        g = mlp(torch.cat([obs, features.detach(), z[None]], -1), network.learned.layers, 0)
        priors = [mlp(obs, network.prior.layers, (0, d)) for d in range(len(z))]
        prior = sum(z[d] * priors[d] for d in range(len(z)))
        return (mean + g.view(4, -1) @ z + agent.config.prior_scale * prior)[0]
    found = torch.zeros(4)
    for part, scale in ((network.learned, 1.0), (network.prior, agent.config.prior_scale)):
        x, mixed = obs, torch.cat([torch.ones(1), z])
        for layer in part.weights.layers:
            weight, bias = (torch.einsum("d,d...->...", mixed, p[0]) for p in layer.parameters())
            x = x.relu() if layer is not part.weights.layers[0] else x
            x = x @ weight + bias
        found = found + scale * x[0]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_definition_together_and_each(kind):
    agent = make(kind)
    obs, z = torch.randn(1, 5, 3), torch.randn(1, 5, 2)
    together, each = agent.online(obs, z), agent.online.of_each(obs, z)
    for b in range(5):
        for s in range(5):
            expected = value(agent, agent.online, obs[0, b : b + 1], z[0, s])
            torch.testing.assert_close(together[0, b, :, s], expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(each[0, b], together[0, b, :, b], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_update_is_that_of_another_program(kind, same_step):
    """Each index toward its own target; priors learn nothing."""
    agent, other = make(kind, noise_std=0.3), make(kind, seeds=(9,), noise_std=0.3)
    agent.target.load_state_dict(other.online.state_dict())
    for step in transitions([7], (3,), 4, 40):
        act(agent, step.obs.flatten(0, 1))
        agent.observe(step)
    batch, copy = agent.minibatch(torch.arange(8, 16)[None]), make(kind, seeds=(1,))
    copy.online.load_state_dict(agent.online.state_dict())
    losses = []
    for b in range(8):
        a, going = int(batch["action"][0, b]), 0.0 if batch["terminated"][0, b] else 0.9
        for s in range(3):
            z = batch["z"][0, s]
            with torch.no_grad():
                best = value(agent, agent.target, batch["next_obs"][0, b : b + 1], z).max()
            y = batch["reward"][0, b] + going * best
            standard = z * 2**0.5 if kind == "hypermodel" else z
            y = y + 0.3 * (batch["direction"][0, b] * standard).sum()
            error = y - value(copy, copy.online, batch["obs"][0, b : b + 1], z)[a]
            huber = 0.5 * error**2 if error.abs() < 1 else error.abs() - 0.5
            losses.append((huber if kind == "epinet" else error**2) / 3)
    same_step(agent, copy, losses, torch.arange(8, 16)[None], lr=1e-2, eps=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_is_played_by_one_index(kind):
    agent = make(kind)
    obs, no, yes = torch.randn(1, 3), torch.tensor([False]), torch.tensor([True])
    for ends in (no, no, yes, no):
        before = agent._index.clone()
        agent.observe(step_of_actors(obs, act(agent, obs), torch.ones(1), ends, no, obs))
        assert torch.equal(agent._index, before) != bool(ends)


def test_the_base_s_features_are_not_shaped_by_the_epinet():
    agent = make("epinet")
    obs, z = torch.randn(1, 5, 3), torch.randn(1, 4, 2)
    hidden = agent.online.base.layers[0].weight
    spread = agent.online(obs, z).var(-1).sum()
    assert torch.autograd.grad(spread, hidden)[0].abs().max() < 1e-5  # rounding of the variance
