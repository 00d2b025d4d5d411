"""Agents that learn nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy import stats
from torch import Tensor

from uqbench.agent import EnvironmentInfo, Step
from uqbench.builtin.trivial import (
    ConstantAction,
    ConstantActionConfig,
    UniformRandom,
    UniformRandomConfig,
)
from uqbench.errors import UqbenchError
from uqbench.registry import Host
from uqbench.testing.worlds import act, step_of_actors

CPU = torch.device("cpu")
SPEC = EnvironmentInfo(spaces.Box(-1, 1, (2,)), 4, 0.99, total_steps=1000)
RARE = 1e-6  # least p-value: a test of frequencies fails for one fresh seed in a million


def uniform(seeds: list[int]) -> UniformRandom:
    return UniformRandom(SPEC, seeds, UniformRandomConfig(), CPU)


def step(t: int, lanes: int) -> Step:
    obs, ends = torch.zeros(lanes, 2), torch.zeros(lanes, dtype=torch.bool)
    action = torch.zeros(lanes, dtype=torch.int64)
    return step_of_actors(obs, action, torch.zeros(lanes), ends, ends, obs)


def acted(agent: UniformRandom, steps: int, lanes: int, valid: Tensor | None = None) -> Tensor:
    actions = []
    for t in range(steps):
        actions.append(act(agent, torch.zeros(lanes, 2), valid))
        agent.observe(step(t, lanes))
    return torch.stack(actions)


def test_random_actions_are_uniform_over_the_valid_ones() -> None:
    valid = torch.tensor([[True] * 4, [False, True, False, True]])
    actions = acted(uniform([0, 1]), 4000, 2, valid)
    for lane, chosen in enumerate(actions.T):
        counts = np.bincount(chosen, minlength=4)
        assert counts[~valid[lane].numpy()].sum() == 0
        assert stats.chisquare(counts[valid[lane].numpy()]).pvalue > RARE
    assert stats.chisquare(np.bincount(acted(uniform([5]), 4000, 1)[:, 0])).pvalue > RARE


def test_a_lane_draws_the_same_alone_and_among_others() -> None:
    together, alone = uniform([3, 4, 5]), uniform([4])
    assert torch.equal(acted(together, 300, 3)[:, 1], acted(alone, 300, 1)[:, 0])
    obs = torch.rand(3, 7, 2)
    assert torch.equal(together.policy(obs)[1:2], alone.policy(obs[1:2]))


def test_the_evaluated_random_policy_is_pure_and_uniform() -> None:
    agent = uniform([1])
    obs = torch.rand(1, 4000, 2)
    first = agent.policy(obs)
    assert torch.equal(agent.policy(obs), first)
    assert stats.chisquare(np.bincount(first[0])).pvalue > RARE
    same = agent.policy(torch.zeros(1, 4000, 2))  # episodes draw independently
    assert stats.chisquare(np.bincount(same[0])).pvalue > RARE
    valid = torch.tensor([False, True, True, False]).expand(1, 4000, 4)
    counts = np.bincount(agent.policy(obs, valid)[0], minlength=4)
    assert counts[[0, 3]].sum() == 0
    assert stats.chisquare(counts[[1, 2]]).pvalue > RARE


def test_a_restored_random_agent_acts_on_as_the_saved_one() -> None:
    agent, restored = uniform([1, 2]), uniform([1, 2])
    acted(agent, 300, 2)
    restored.load_state_dict(agent.state_dict())
    obs = torch.rand(2, 5, 2)
    assert torch.equal(act(agent, obs[:, 0]), act(restored, obs[:, 0]))
    assert torch.equal(agent.policy(obs), restored.policy(obs))


def test_a_constant_action_is_taken_in_training_and_evaluation() -> None:
    agent = ConstantAction(SPEC, [0, 1], ConstantActionConfig(action=2), CPU)
    assert act(agent, torch.zeros(2, 2)).tolist() == [2, 2]
    assert agent.policy(torch.zeros(2, 3, 2)).tolist() == [[2] * 3] * 2
    assert agent.uncertainty(torch.zeros(2, 3, 2)) is None


@pytest.mark.parametrize("action", [-1, 4])
def test_a_constant_action_that_the_environment_lacks_is_refused(action: int) -> None:
    with pytest.raises(UqbenchError, match=f"action must be one of 0 to 3; got {action}"):
        ConstantAction(SPEC, [0], ConstantActionConfig(action=action), CPU)


def test_both_are_registered() -> None:
    agents = Host.load().agents
    assert agents["uniform-random"].load_factory() is UniformRandom
    assert agents["constant-action"].load_config() is ConstantActionConfig
