"""UVU: the estimate before data, what it knows of what follows, one update by another program."""

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_posteriors.config import UVUConfig
from uqbench_posteriors.uvu import UVUDQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {"hidden": (6,), "heads": 3, "learning_starts": 500}


def test_before_data_it_states_the_variance_of_independent_networks():
    """Of 400 lanes' fixed networks at a state; a ratio of two such estimates is 1 ± .1 in 3 sd."""
    agent = UVUDQN(FLAT, range(400), UVUConfig(hidden=(32,), heads=20), CPU)
    obs = torch.tensor([0.5, -0.2, 0.9]).expand(400, 1, 3)
    stated = agent.uncertainty(obs).epistemic_var
    networks = agent.online.fixed(obs)  # [L, 1, A, M]
    assert float(stated.mean() / networks.var(dim=(0, 3)).mean()) == pytest.approx(1.0, abs=0.1)


def test_what_is_not_known_of_the_next_state_is_not_known_here_and_an_end_is_known():
    """A table: state 0 leads to 1, of which nothing is known; state 2 ends.

    The fixed point, of no loss, is ``(u − g)(0, a) = γ (u − g)(1, a*)``, and 0 where one ends.
    """
    info = EnvironmentInfo(spaces.Box(0, 1, (4,)), 2, 0.9, 1000)
    agent = UVUDQN(info, [0], UVUConfig(hidden=(), heads=4), CPU)
    states, nets = torch.eye(4)[None], (agent.online.q, agent.online.learned, agent.online.fixed)
    following = agent.target(states)[0, 1]
    after = following[following[:, 0].argmax()]
    with torch.no_grad():
        q, u, g = (network.layers[0].weight[0].view(4, 2, -1) for network in nets)
        q[0], u[0] = 1.0 + 0.9 * after[0], g[0] + 0.9 * after[1:]
        q[2], u[2] = 0.5, g[2]
    batch = {
        "obs": states[:, [0, 0, 2, 2]], "next_obs": states[:, [1, 1, 3, 3]],
        "action": torch.tensor([[0, 1, 0, 1]]), "reward": torch.tensor([[1.0, 1.0, 0.5, 0.5]]),
        "next_valid": torch.ones(1, 4, 2) > 0, "terminated": torch.tensor([[0, 0, 1, 1]]) > 0,
    }  # fmt: skip
    assert agent.objective(batch).abs().max() < 1e-10


def values(network: Any, obs: Tensor) -> Tensor:
    """``[B, A, outputs]`` by one product after another."""
    first, last = network.layers
    hidden = torch.relu(obs @ first.weight[0] + first.bias[0])
    return (hidden @ last.weight[0] + last.bias[0]).view(len(obs), 4, -1)


def test_one_update_is_that_of_another_program(same_step):
    """With the synthetic reward written out, as the paper has it."""
    agent = UVUDQN(FLAT, [4], UVUConfig(**SMALL, learning_rate=1e-2, adam_epsilon=1e-3), CPU)
    other = UVUDQN(FLAT, [9], UVUConfig(**SMALL), CPU)
    agent.target.q.load_state_dict(other.online.q.state_dict())
    agent.target.learned.load_state_dict(other.online.learned.state_dict())
    for step in transitions([7], (3,), 4, 40):
        agent.observe(step)
    batch = agent.minibatch(torch.arange(8, 24)[None])
    obs, following = batch["obs"][0], batch["next_obs"][0]
    copy = UVUDQN(FLAT, [4], UVUConfig(**SMALL), CPU)
    copy.online.load_state_dict(agent.online.state_dict())

    with torch.no_grad():
        g, g_next = values(copy.online.fixed, obs), values(copy.online.fixed, following)
        q_next, u_next = values(agent.target.q, following), values(agent.target.learned, following)
    q, u = values(copy.online.q, obs), values(copy.online.learned, obs)
    losses = []
    for b in range(16):
        a, going = int(batch["action"][0, b]), 0.0 if batch["terminated"][0, b] else 0.9
        best = int(q_next[b, :, 0].argmax())
        error = q[b, a, 0] - (batch["reward"][0, b] + going * q_next[b, best, 0])
        losses.append(0.5 * error**2 if error.abs() < 1 else error.abs() - 0.5)
        for m in range(3):
            reward = g[b, a, m] - going * g_next[b, best, m]
            losses.append((reward + going * u_next[b, best, m] - u[b, a, m]) ** 2 / 6)
    assert {bool(end) for end in batch["terminated"][0]} == {True, False}
    same_step(agent, copy, losses, torch.arange(8, 24)[None], lr=1e-2, eps=1e-3)
