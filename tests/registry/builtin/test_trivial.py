"""Agents that learn nothing."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy import stats
from torch import Tensor

from uqbench import testing
from uqbench.agent import EnvironmentInfo
from uqbench.builtin import trivial
from uqbench.errors import UqbenchError
from uqbench.testing.worlds import act, step_of_actors

CPU = torch.device("cpu")
SPEC = EnvironmentInfo(spaces.Box(-1, 1, (2,)), 4, 0.99, total_steps=1000)
RARE = 1e-6  # least p-value: a test of frequencies fails for one fresh seed in a million


def uniform(seeds: list[int]) -> trivial.UniformRandom:
    return trivial.UniformRandom(SPEC, seeds, trivial.UniformRandomConfig(), CPU)


def acted(agent: object, steps: int, lanes: int, valid: Tensor | None = None) -> Tensor:
    obs, none = torch.zeros(lanes, 2), torch.zeros(lanes)
    step, actions = step_of_actors(obs, none.long(), none, none > 0, none > 0, obs), []
    for _ in range(steps):
        actions.append(act(agent, obs, valid))
        agent.observe(step)
    return torch.stack(actions)


def test_random_actions_are_uniform_over_the_valid_ones():
    valid = torch.tensor([[True] * 4, [False, True, False, True]])
    for lane, chosen in enumerate(acted(uniform([0, 1]), 4000, 2, valid).T):
        counts = np.bincount(chosen, minlength=4)
        assert counts[~valid[lane].numpy()].sum() == 0
        assert stats.chisquare(counts[valid[lane].numpy()]).pvalue > RARE
    assert stats.chisquare(np.bincount(acted(uniform([5]), 4000, 1)[:, 0])).pvalue > RARE


def test_the_evaluated_random_policy_is_pure_and_uniform():
    agent, obs = uniform([1]), torch.rand(1, 4000, 2)
    first = agent.policy(obs)
    assert torch.equal(agent.policy(obs), first)
    assert stats.chisquare(np.bincount(first[0])).pvalue > RARE
    same = agent.policy(torch.zeros(1, 4000, 2))  # episodes draw independently
    assert stats.chisquare(np.bincount(same[0])).pvalue > RARE
    valid = torch.tensor([False, True, True, False]).expand(1, 4000, 4)
    counts = np.bincount(agent.policy(obs, valid)[0], minlength=4)
    assert counts[[0, 3]].sum() == 0
    assert stats.chisquare(counts[[1, 2]]).pvalue > RARE


@pytest.mark.parametrize("rule", ["agent-lanes", "agent-checkpoint"])
def test_a_random_agent_keeps_the_rules_of_lanes_and_checkpoints(rule):
    testing.check("uqbench:uniform-random", rule)


def test_a_constant_action_is_taken_in_training_and_evaluation():
    agent = trivial.ConstantAction(SPEC, [0, 1], trivial.ConstantActionConfig(action=2), CPU)
    assert act(agent, torch.zeros(2, 2)).tolist() == [2, 2]
    assert agent.policy(torch.zeros(2, 3, 2)).tolist() == [[2] * 3] * 2
    assert agent.uncertainty(torch.zeros(2, 3, 2)) is None


@pytest.mark.parametrize("action", [-1, 4])
def test_a_constant_action_that_the_environment_lacks_is_refused(action):
    with pytest.raises(UqbenchError, match=f"action must be one of 0 to 3; got {action}"):
        trivial.ConstantAction(SPEC, [0], trivial.ConstantActionConfig(action=action), CPU)
