"""Implicit quantile networks: one update by another program, by equation 4."""

import math
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_posteriors.config import IQNConfig
from uqbench_posteriors.iqn import IQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import act, transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {
    "hidden": (6,), "learning_starts": 500, "batch_size": 8, "predicted": 4, "targets": 3,
    "acting": 5, "cosines": 7, "learning_rate": 1e-2, "adam_epsilon": 1e-3}  # fmt: skip


def quantile(network: Any, obs: Tensor, level: Tensor) -> Tensor:
    """``Z_τ(s, ·)`` ``[A]`` of one state of lane 0, by equation 4."""
    cosines = torch.stack([torch.cos(math.pi * i * level) for i in range(7)])[None]
    embedded = (cosines @ network.embedding.weight[0] + network.embedding.bias[0]).relu()
    x, layers = obs * embedded, network.network.layers
    hidden = (x @ layers[0].weight[0] + layers[0].bias[0]).relu()
    return (hidden @ layers[1].weight[0] + layers[1].bias[0])[0]


@pytest.mark.parametrize("kappa", [0.5, 5.0])
def test_one_update_is_that_of_another_program(kappa, same_step):
    config = IQNConfig(**SMALL | {"adam_epsilon": 1.0, "learning_rate": 1.0}, kappa=kappa)
    agent, other = (IQN(FLAT, [seed], config, CPU) for seed in (4, 9))
    agent.target.load_state_dict(other.online.state_dict())
    for step in transitions([7], (3,), 4, 40):
        act(agent, step.obs.flatten(0, 1))
        agent.observe(step)
    index = torch.arange(8, 16)[None]
    batch, copy = agent.minibatch(index), IQN(FLAT, [1], IQNConfig(**SMALL), CPU)
    copy.online.load_state_dict(agent.online.state_dict())
    losses, differs = [], 0
    for b in range(8):
        a, going = int(batch["action"][0, b]), 0.0 if batch["terminated"][0, b] else 0.9
        levels, others, acting = batch["levels"][0, b].split([4, 3, 5])
        with torch.no_grad():
            following = [
                quantile(agent.target, batch["next_obs"][0, b : b + 1], t)
                for t in torch.cat([others, acting])
            ]
            after, ahead = torch.stack(following).split([3, 5])
        best = int(ahead.mean(0).argmax())
        differs += bool(going) and best != int(after.mean(0).argmax())
        for t in levels:
            predicted = quantile(copy.online, batch["obs"][0, b : b + 1], t)[a]
            for j in range(3):
                u = batch["reward"][0, b] + going * after[j, best] - predicted
                huber = 0.5 * u**2 if u.abs() <= kappa else kappa * (u.abs() - kappa / 2)
                losses.append((t - (u < 0).float()).abs() * huber / kappa / 3)
    assert differs, "other levels have another greedy action somewhere"
    same_step(agent, copy, losses, index, lr=1.0, eps=1.0)  # sizes, not signs
