"""Information-directed sampling on QR-DQN: the ratio, one update by another program, capture."""

import math
from itertools import product
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn.functional import smooth_l1_loss
from uqbench_posteriors.config import IDSConfig
from uqbench_posteriors.ids_dqn import IDSQRDQN, information_ratio, normalized_noise

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import RotatingPixels, transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {"hidden": (6,), "heads": 3, "quantiles": 5, "learning_starts": 500}


def test_the_ratio_is_the_papers():
    """Regret by bounds of one standard deviation times λ, log(1 + σ²/ρ²) as information."""
    mean, std, rho2 = [1.0, 0.8, 0.1], [0.1, 0.5, 2.0], [0.25, 1.0, 2.0]
    highest = max(m + 0.3 * s for m, s in zip(mean, std, strict=True))
    expected = [
        (highest - (m - 0.3 * s)) ** 2 / (math.log(1 + s * s / r) + 1e-5)
        for m, s, r in zip(mean, std, rho2, strict=True)
    ]
    found = information_ratio(torch.tensor(mean), torch.tensor(std) ** 2, torch.tensor(rho2), 0.3)
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


def test_noise_is_relative_to_the_valid_actions_and_has_a_floor():
    var = torch.tensor([0.1, 2.0, 3.9])
    assert normalized_noise(var, None, 0.25).tolist() == pytest.approx([0.25, 1.0, 1.95], rel=1e-4)
    found = normalized_noise(var, torch.tensor([True, True, False]), 0.25).tolist()
    assert found[:2] == pytest.approx([0.25, 2.0 / 1.05], rel=1e-4)


def test_an_action_that_is_better_beyond_doubt_is_taken_and_an_invalid_one_never():
    agent = IDSQRDQN(FLAT, [0], IDSConfig(**SMALL), CPU)
    obs = torch.randn(1, 9, 3, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        agent.online.heads.layers[-1].bias[..., 2] += 50.0
    assert (agent.act(obs) == 2).all()
    assert (agent.act(obs, torch.tensor([True, True, False, True]).expand(1, 9, 4)) != 2).all()


# -- one update, by a program of its own -----------------------------------------------------------


def members(agent: IDSQRDQN, network: Any, obs: Tensor) -> tuple[Tensor, Tensor]:
    """Heads ``[B, A, K]`` and quantiles ``[B, A, N]`` by one product after another."""
    first, last = network.heads.layers
    heads = []
    for k in range(agent.config.heads):
        hidden = torch.relu(obs @ first.weight[0, k] + first.bias[0, k])
        heads.append(hidden @ last.weight[0, k] + last.bias[0, k])
    first, last = network.quantiles.layers
    hidden = torch.relu(obs @ first.weight[0] + first.bias[0])
    quantiles = hidden @ last.weight[0] + last.bias[0]
    return torch.stack(heads, -1), quantiles.view(len(obs), 4, agent.config.quantiles)


def test_one_update_is_that_of_another_program(same_step):
    agent = IDSQRDQN(FLAT, [4], IDSConfig(**SMALL, learning_rate=1e-2, adam_epsilon=1e-3), CPU)
    agent.target.load_state_dict(IDSQRDQN(FLAT, [9], IDSConfig(**SMALL), CPU).online.state_dict())
    for step in transitions([7], (3,), 4, 40):
        agent.observe(step)
    batch = agent.minibatch(torch.arange(8, 24)[None])
    obs, following = batch["obs"][0], batch["next_obs"][0]

    with torch.no_grad():
        heads, quantiles = members(agent, agent.target, following)
        chosen = quantiles.mean(-1).argmax(-1)
    copy = IDSQRDQN(FLAT, [4], IDSConfig(**SMALL), CPU)
    copy.online.load_state_dict(agent.online.state_dict())
    predicted_heads, predicted_quantiles = members(copy, copy.online, obs)
    losses = []
    for b in range(16):
        a, going = int(batch["action"][0, b]), 0.0 if batch["terminated"][0, b] else 0.9
        reward = batch["reward"][0, b]
        for k in range(3):
            target = reward + going * heads[b, :, k].max()
            losses.append(smooth_l1_loss(predicted_heads[b, a, k], target) / 3)
        for i, j in product(range(5), range(5)):
            u = reward + going * quantiles[b, chosen[b], j] - predicted_quantiles[b, a, i]
            losses.append(((i + 0.5) / 5 - (u < 0).float()) * u / 5)
    assert {bool(going) for going in batch["terminated"][0]} == {True, False}
    same_step(agent, copy, losses, torch.arange(8, 24)[None], lr=1e-2, eps=1e-3)


def test_the_return_distribution_does_not_shape_the_trunk():
    agent = IDSQRDQN(RotatingPixels.info(), [0], IDSConfig(**SMALL, channels=4), CPU)
    heads, quantiles = agent.parts(agent.online(torch.rand(1, 6, *RotatingPixels.SHAPE)))
    weights = list(agent.online.heads.convolutions.parameters())
    untouched = torch.autograd.grad(quantiles.square().sum(), weights, retain_graph=True)
    assert not any(g.any() for g in untouched)
    assert all(g.abs().sum() > 0 for g in torch.autograd.grad(heads.square().sum(), weights))
