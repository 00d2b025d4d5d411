"""Implicit quantile networks: one update by another program, what is learned, capture."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_posteriors.config import IQNConfig
from uqbench_posteriors.iqn import IQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.capture import simulated
from uqbench.testing.same_bits import compare_captured
from uqbench.testing.worlds import RotatingPixels, act, step_of_actors, transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {
    "hidden": (6,), "learning_starts": 500, "batch_size": 8, "predicted": 4, "targets": 3,
    "acting": 5, "cosines": 7, "learning_rate": 1e-2, "adam_epsilon": 1e-3,
}  # fmt: skip


def quantile(network: Any, obs: Tensor, level: Tensor) -> Tensor:
    """``Z_τ(s, ·)`` ``[A]`` of one state of lane 0, by equation 4."""
    cosines = torch.stack([torch.cos(math.pi * i * level) for i in range(7)])[None]
    embedded = (cosines @ network.embedding.weight[0] + network.embedding.bias[0]).relu()
    x, layers = obs * embedded, network.network.layers
    hidden = (x @ layers[0].weight[0] + layers[0].bias[0]).relu()
    return (hidden @ layers[1].weight[0] + layers[1].bias[0])[0]


@pytest.mark.parametrize("kappa", [0.5, 5.0])
def test_one_update_is_that_of_another_program(kappa):
    agent, other = (
        IQN(
            FLAT,
            [seed],
            IQNConfig(**SMALL | {"adam_epsilon": 1.0, "learning_rate": 1.0}, kappa=kappa),
            CPU,
        )
        for seed in (4, 9)
    )
    agent.target.load_state_dict(other.online.state_dict())
    for step in transitions([7], (3,), 4, 40):
        act(agent, step.obs.flatten(0, 1))
        agent.observe(step)
    index = torch.arange(8, 16)[None]
    batch = agent.minibatch(index)
    copy = IQN(FLAT, [1], IQNConfig(**SMALL), CPU)
    copy.online.load_state_dict(agent.online.state_dict())
    losses, differs = [], 0
    for b in range(8):
        a, going = int(batch["action"][0, b]), 0.0 if batch["terminated"][0, b] else 0.9
        levels, others, acting = batch["levels"][0, b].split([4, 3, 5])
        with torch.no_grad():
            after, ahead = (
                torch.stack(
                    [quantile(agent.target, batch["next_obs"][0, b : b + 1], t) for t in of]
                )
                for of in (others, acting)
            )
        best = int(ahead.mean(0).argmax())
        differs += bool(going) and best != int(after.mean(0).argmax())
        for t in levels:
            predicted = quantile(copy.online, batch["obs"][0, b : b + 1], t)[a]
            for j in range(3):
                u = batch["reward"][0, b] + going * after[j, best] - predicted
                huber = 0.5 * u**2 if u.abs() <= kappa else kappa * (u.abs() - kappa / 2)
                losses.append((t - (u < 0).float()).abs() * huber / kappa / 3)
    optimizer = torch.optim.Adam(copy.online.parameters(), lr=1.0, eps=1.0)  # sizes, not signs
    (torch.stack(losses).sum() / 8).backward()
    optimizer.step()
    assert differs, "other levels have another greedy action somewhere"
    agent.learn(index)
    for found, one in zip(agent.online.parameters(), copy.online.parameters(), strict=True):
        torch.testing.assert_close(found, one, rtol=1e-4, atol=1e-5)


def test_it_learns_the_quantiles_of_a_reward():
    """Uniform in [0, 1]: quantiles at a tenth and nine tenths within .15 after 1,500 steps."""
    settings = SMALL | {"hidden": (32,), "learning_starts": 32, "batch_size": 32, "kappa": 0.05}
    settings |= {"predicted": 16, "targets": 16, "adam_epsilon": 1e-8, "learning_rate": 3e-3}
    agent = IQN(FLAT, [0], IQNConfig(**settings), CPU)
    generator = torch.Generator().manual_seed(0)
    obs, yes = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([True])
    for _ in range(1_500):
        action = torch.zeros(1, dtype=torch.int64)
        reward = torch.rand(1, generator=generator)
        agent.observe(step_of_actors(obs, action, reward, yes, ~yes, obs))
    with torch.no_grad():
        found = agent.online(obs[None], torch.tensor([[[0.1, 0.5, 0.9]]]))[0, 0, 0]
    assert found.tolist() == pytest.approx([0.1, 0.5, 0.9], abs=0.15)


def test_captured_steps_are_those_from_python():
    def make() -> tuple[IQN, RotatingPixels]:
        changed = {"learning_starts": 20, "target_sync_period": 9, "batch_size": 4, "channels": 2}
        config = IQNConfig(**SMALL | changed)
        return IQN(RotatingPixels.info(), range(2), config, CPU), RotatingPixels(2)

    assert compare_captured(make, 60, simulated) is None


@pytest.mark.parametrize(
    "settings", [{"predicted": 0}, {"targets": 0}, {"acting": 0}, {"cosines": 0}, {"kappa": 0.0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match="got"):
        IQNConfig(**settings)


def test_the_defaults_are_the_papers():
    config = IQNConfig()
    assert (config.predicted, config.targets, config.acting, config.cosines) == (64, 64, 32, 64)
