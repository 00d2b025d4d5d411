"""Epinet and hypermodel: networks, one update by another program, lanes and capture."""

from __future__ import annotations

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
from uqbench.testing.capture import simulated
from uqbench.testing.same_bits import compare_captured
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors, transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {
    "hidden": (6,), "learning_starts": 500, "batch_size": 8, "indices": 3, "index_size": 2,
    "samples": 5, "learning_rate": 1e-2, "adam_epsilon": 1e-3,
}  # fmt: skip
KINDS = ["epinet", "hypermodel"]


def make(kind: str, info: EnvironmentInfo = FLAT, seeds: Any = (4,), **settings: Any) -> IndexedQ:
    if kind == "epinet":
        config = EpinetConfig(**SMALL | {"prior_scale": 0.7, "epinet_hidden": (5,)} | settings)
        agent = EpinetDQN(info, seeds, config, CPU)
        last = agent.online.learned.layers[-1].weight  # as learned, where it starts at zero
        assert not last.any()
        last.data.normal_(generator=torch.Generator().manual_seed(sum(seeds)))
        agent.target.load_state_dict(agent.online.state_dict())
        return agent
    return HypermodelDQN(info, seeds, HypermodelConfig(**SMALL | settings), CPU)


def mlp(x: Tensor, layers: Any, at: Any) -> Tensor:
    """One network's outputs, layer by layer."""
    for number, layer in enumerate(layers):
        x = x @ layer.weight[at] + layer.bias[at]
        x = x if number == len(layers) - 1 else x.relu()
    return x


def value(agent: IndexedQ, network: Any, obs: Tensor, z: Tensor) -> Tensor:
    """``f(s, z)`` ``[A]`` of one state of lane 0 and one index, by its definition."""
    if isinstance(agent, EpinetDQN):
        *hidden, last = network.base.layers
        features = obs
        for layer in hidden:
            features = (features @ layer.weight[0] + layer.bias[0]).relu()
        mean = features @ last.weight[0] + last.bias[0]
        g = mlp(torch.cat([obs, features.detach(), z[None]], -1), network.learned.layers, 0)
        priors = [mlp(obs, network.prior.layers, (0, d)) for d in range(len(z))]
        prior = sum(z[d] * priors[d] for d in range(len(z)))
        return (mean + g.view(4, -1) @ z + agent.config.prior_scale * prior)[0]
    found = torch.zeros(4)
    for part, scale in ((network.learned, 1.0), (network.prior, agent.config.prior_scale)):
        x, layers = obs, part.weights.layers
        for number, layer in enumerate(layers):
            weight = layer.weight[0, 0] + sum(z[d] * layer.weight[0, d + 1] for d in range(len(z)))
            bias = layer.bias[0, 0] + sum(z[d] * layer.bias[0, d + 1] for d in range(len(z)))
            x = x @ weight + bias
            x = x if number == len(layers) - 1 else x.relu()
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
def test_one_update_is_that_of_another_program(kind):
    """Each index toward its own target; priors learn nothing."""
    agent, other = make(kind, noise_std=0.3), make(kind, seeds=(9,), noise_std=0.3)
    agent.target.load_state_dict(other.online.state_dict())
    for step in transitions([7], (3,), 4, 40):
        act(agent, step.obs.flatten(0, 1))
        agent.observe(step)
    batch = agent.minibatch(torch.arange(8, 16)[None])
    copy = make(kind, seeds=(1,))
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
            losses.append(huber if kind == "epinet" else error**2)
    parameters = [p for p in copy.online.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=1e-2, eps=1e-3)
    (torch.stack(losses).sum() / 24).backward()
    optimizer.step()
    before = [p.detach().clone() for p in agent.online.parameters()]
    agent.learn(torch.arange(8, 16)[None])
    pairs = zip(agent.online.parameters(), copy.online.parameters(), before, strict=True)
    for found, expected, old in pairs:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        assert torch.equal(found, old) != found.requires_grad


@pytest.mark.parametrize("kind", KINDS)
def test_an_episode_is_played_by_one_index(kind):
    agent = make(kind)
    first = agent._index.clone()
    obs, no, yes = torch.randn(1, 3), torch.tensor([False]), torch.tensor([True])
    for ends in (no, no, yes, no):
        action = act(agent, obs)
        agent.observe(step_of_actors(obs, action, torch.ones(1), ends, no, obs))
        changed = not torch.equal(agent._index, first)
        assert changed == bool(ends) or not bool(ends)
        first = agent._index.clone()
    assert not changed


def test_the_base_s_features_are_not_shaped_by_the_epinet():
    agent = make("epinet")
    obs, z = torch.randn(1, 5, 3), torch.randn(1, 4, 2)
    hidden = agent.online.base.layers[0].weight
    spread = agent.online(obs, z).var(-1).sum()
    assert torch.autograd.grad(spread, hidden)[0].abs().max() < 1e-5  # rounding of the variance


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("actors", [1, 3])
def test_captured_steps_are_those_from_python(kind, actors):
    info = RotatingPixels.info(actors=actors)
    settings = {"learning_starts": 20, "target_sync_period": 9, "batch_size": 4, "channels": 2}

    def both() -> tuple[IndexedQ, RotatingPixels]:
        return make(kind, info, range(2), **settings), RotatingPixels(2 * actors)

    assert compare_captured(both, 60, simulated, actors) is None


def test_impossible_settings_are_refused():
    for wrong in ({"index_size": 0}, {"indices": 0}, {"samples": 1}, {"prior_scale": -1.0}):
        for config in (EpinetConfig, HypermodelConfig):
            with pytest.raises(ValueError, match="got"):
                config(**wrong)
    with pytest.raises(ValueError, match="noise_std"):
        HypermodelConfig(noise_std=-1.0)


def test_the_defaults_are_the_papers():
    epinet, hypermodel = EpinetConfig(), HypermodelConfig()
    assert (epinet.index_size, epinet.epinet_hidden, epinet.prior_hidden) == (8, (15, 15), (5, 5))
    assert (hypermodel.index_size, hypermodel.indices, hypermodel.prior_scale) == (6, 16, 1.0)
