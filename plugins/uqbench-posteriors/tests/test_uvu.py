"""UVU: the estimate before data, what it knows of what follows, one update by another program."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_posteriors.config import UVUConfig
from uqbench_posteriors.uvu import UVUDQN

from uqbench.agent import EnvironmentInfo
from uqbench.testing.capture import simulated
from uqbench.testing.same_bits import compare_captured
from uqbench.testing.worlds import RotatingPixels, transitions

CPU = torch.device("cpu")
FLAT = EnvironmentInfo(spaces.Box(-1, 1, (3,)), 4, 0.9, 1000)
SMALL: dict[str, Any] = {"hidden": (6,), "heads": 3, "learning_starts": 500}


def test_before_data_it_states_the_variance_of_independent_networks():
    """Of 400 lanes' fixed networks at a state; a ratio of two such estimates is 1 ± .1 in 3 sd."""
    agent = UVUDQN(FLAT, range(400), UVUConfig(hidden=(32,), heads=20), CPU)
    obs = torch.tensor([0.5, -0.2, 0.9]).expand(400, 1, 3)
    stated = agent.uncertainty(obs).epistemic_var
    networks = agent.online.fixed(obs)  # [L, 1, A, M]
    assert stated is not None
    assert float(stated.mean() / networks.var(dim=(0, 3)).mean()) == pytest.approx(1.0, abs=0.1)


def test_what_is_not_known_of_the_next_state_is_not_known_here_and_an_end_is_known():
    """A table: state 0 leads to 1, of which nothing is known; state 2 ends; 3 is never seen.

    The fixed point is ``(u − g)(0, a) = γ (u − g)(1, a*)``, exactly 0 where an episode ends, and
    what it was where nothing was seen.
    """
    info = EnvironmentInfo(spaces.Box(0, 1, (4,)), 2, 0.9, 1000)
    config = UVUConfig(hidden=(), heads=4)
    agent = UVUDQN(info, [0], config, CPU)
    with torch.no_grad():
        for network in (agent.online.learned, agent.online.fixed, agent.online.q):
            network.layers[0].bias.zero_()
    weights = [
        one
        for name, one in agent.online.named_parameters()
        if one.requires_grad and "weight" in name
    ]
    optimizer = torch.optim.Adam(weights, lr=0.02)
    agent.target.load_state_dict(agent.online.state_dict())
    states = torch.eye(4)[None]
    before = agent.online(states).detach()
    batch = {
        "obs": states[:, [0, 0, 2, 2]],
        "action": torch.tensor([[0, 1, 0, 1]]),
        "reward": torch.tensor([[1.0, 1.0, 0.5, 0.5]]),
        "next_obs": states[:, [1, 1, 3, 3]],
        "next_valid": torch.ones(1, 4, 2, dtype=torch.bool),
        "terminated": torch.tensor([[False, False, True, True]]),
    }
    for _ in range(3000):
        optimizer.zero_grad()
        agent.objective(batch).mean().backward()
        optimizer.step()
    after = agent.online(states).detach()
    best = int(before[0, 1, :, 0].argmax())
    assert torch.equal(after[0, [1, 3]], before[0, [1, 3]])
    for action in (0, 1):
        torch.testing.assert_close(
            after[0, 0, action, 1:], 0.9 * before[0, 1, best, 1:], atol=2e-4, rtol=0
        )
        torch.testing.assert_close(after[0, 2, action, 1:], torch.zeros(4), atol=2e-4, rtol=0)
        assert float(after[0, 2, action, 0]) == pytest.approx(0.5, abs=2e-4)


def values(network: Any, obs: Tensor) -> Tensor:
    """``[B, A, outputs]`` by one product after another."""
    first, last = network.layers
    hidden = torch.relu(obs @ first.weight[0] + first.bias[0])
    return (hidden @ last.weight[0] + last.bias[0]).view(len(obs), 4, -1)


def test_one_update_is_that_of_another_program():
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
    agent.learn(torch.arange(8, 24)[None])

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
    learned = [one for one in copy.online.parameters() if one.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=1e-2, eps=1e-3)
    (torch.stack(losses).sum() / 16).backward()
    optimizer.step()
    assert {bool(end) for end in batch["terminated"][0]} == {True, False}
    for (name, found), expected in zip(
        agent.online.named_parameters(), copy.online.parameters(), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-6, msg=name)


def test_captured_steps_are_those_from_python():
    def make() -> tuple[UVUDQN, RotatingPixels]:
        settings = SMALL | {"learning_starts": 20, "target_sync_period": 9, "batch_size": 4}
        return UVUDQN(RotatingPixels.info(), range(2), UVUConfig(**settings), CPU), (
            RotatingPixels(2)
        )

    assert compare_captured(make, 60, simulated) is None


@pytest.mark.parametrize("settings", [{"heads": 0}, {"prior_scale": 0.0}, {"kappa": 0.0}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match="got"):
        UVUConfig(**settings)
