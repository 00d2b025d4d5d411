"""Random network distillation: the bonus, what learns it, and that it fades where one has been."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch.nn import functional as F
from uqbench_dqn.config import RNDConfig
from uqbench_dqn.rnd import RND

from uqbench.agent import EnvironmentInfo
from uqbench.testing.worlds import step_of_actors

CPU = torch.device("cpu")
INFO = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, discount=0.9, total_steps=1_000)


def make(**settings: Any) -> RND:
    config = {"hidden": (16,), "learning_starts": 32, "learning_rate": 1e-2, "features": 4}
    return RND(INFO, [3, 5], RNDConfig(**config | settings), CPU)


def visited(agent: RND, steps: int = 300) -> RND:
    """States 0 and 1 of five, one-hot, in turns."""
    for t in range(steps):
        obs, after = (torch.eye(5)[[(t + k) % 2]].expand(2, 5) for k in (0, 1))
        nothing, never = torch.zeros(2), torch.zeros(2, dtype=torch.bool)
        action = torch.full((2,), t % 3)
        agent.observe(step_of_actors(obs, action, nothing, never, never, after))
    return agent


def test_the_loss_has_the_bonus_in_its_rewards_and_the_error_beside_it() -> None:
    agent = visited(make(bonus=0.5), 40)
    batch = agent.replay.gather(torch.arange(20).expand(2, -1))
    total, steps = agent._total.clone(), agent._steps.clone()
    assert torch.equal(steps, torch.full((2,), 8.0))  # from step 32 on
    given = agent.objective(batch)
    error = (agent.predictor(batch["next_obs"]) - agent.random(batch["next_obs"])).square()
    error = error.mean((-1, -2))
    running = (total + error.mean(-1)) / 9
    reward = batch["reward"] + 0.5 * error / running[:, None]
    best = agent.target(batch["next_obs"]).squeeze(-1).amax(-1)
    target = reward + 0.9 * ~batch["terminated"] * best
    taken = agent.online(batch["obs"]).squeeze(-1).gather(-1, batch["action"][..., None])
    loss = F.huber_loss(taken.squeeze(-1), target, reduction="none")
    torch.testing.assert_close(given, loss + error)


def test_the_bonus_fades_where_one_has_been_and_the_random_network_stays() -> None:
    agent = make()
    before = [weight.clone() for weight in agent.random.parameters()]
    first = agent.errors(torch.eye(5).expand(2, 5, 5))
    visited(agent)
    error = agent.errors(torch.eye(5).expand(2, 5, 5))
    assert (error[:, :2] < 0.01 * first[:, :2]).all()
    assert (error[:, 2:].amin(-1) > 20 * error[:, :2].amax(-1)).all()
    for now, then in zip(agent.random.parameters(), before, strict=True):
        assert torch.equal(now, then)


def test_where_every_step_ends_an_episode_there_is_no_bonus() -> None:
    agent = make()
    ends, never = torch.ones(2, dtype=torch.bool), torch.zeros(2, dtype=torch.bool)
    for t in range(40):
        obs, action = torch.eye(5)[[t % 5]].expand(2, 5), torch.full((2,), t % 3)
        agent.observe(step_of_actors(obs, action, torch.ones(2), ends, never, obs))
    batch = agent.replay.gather(torch.arange(20).expand(2, -1))
    taken = agent.online(batch["obs"]).squeeze(-1).gather(-1, batch["action"][..., None])
    loss = F.huber_loss(taken.squeeze(-1), torch.ones(2, 20), reduction="none")
    torch.testing.assert_close(agent.objective(batch), loss)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match=r"bonus >= 0 and features >= 1, got -1.0 and 16"):
        RNDConfig(bonus=-1.0)
