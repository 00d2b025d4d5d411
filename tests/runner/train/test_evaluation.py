"""Evaluation plays one episode in each environment by the agent's policy, and counts it right."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_testing.capture import simulated

from uqbench.agent import Agent, Step
from uqbench.environment import LaneEnv, Outcome
from uqbench.runner.train import evaluation
from uqbench.runner.train.evaluation import evaluate


class Countdown(LaneEnv):
    """Lane i's episodes last ``lengths[i]`` steps; the reward is the action, in every step.

    Observations are (lane, step of the episode); episodes follow each other, as in training.
    """

    observation_space = spaces.Box(0, np.inf, (2,), np.float32)
    n_actions = 100

    def __init__(self, lengths: list[int], truncates: bool = False) -> None:
        self.lengths = torch.tensor(lengths)
        self.truncates = truncates
        self.taken = 0

    def reset(self) -> tuple[Tensor, Tensor | None]:
        self.steps = torch.zeros_like(self.lengths)
        return self.observation(), None

    def step(self, action: Tensor) -> Outcome:
        assert action.shape == self.lengths.shape
        self.taken += 1
        self.steps = self.steps + 1
        final, ended = self.observation(), self.steps == self.lengths
        none = torch.zeros_like(ended)
        self.steps = torch.where(ended, 0, self.steps)
        ends = (none, ended) if self.truncates else (ended, none)
        return Outcome(action.float(), *ends, final, self.observation())

    def observation(self) -> Tensor:
        return torch.stack([torch.arange(len(self.lengths)), self.steps], 1).float()


class Policy(Agent):
    """Acts by a function of the observation; anything but ``policy`` is not for evaluations."""

    def __init__(self, episodes: int) -> None:
        self.episodes = episodes

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        assert obs.shape[1:] == (self.episodes, 2)
        lane = torch.arange(len(obs))[:, None]
        assert torch.equal(obs[..., 0], lane * self.episodes + torch.arange(self.episodes))
        return (10 * lane + obs[..., 1]).long()  # the agent's lane, and the step of the episode

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        raise AssertionError("evaluation must not explore")

    def observe(self, step: Step) -> None:
        raise AssertionError("evaluation must not learn")


def played(lengths, max_steps=1000, truncates=False):
    """The evaluation of ``[L, M]`` episodes of the given lengths, and the steps it took."""
    lanes, episodes = len(lengths), len(lengths[0])
    env = Countdown([length for lane in lengths for length in lane], truncates)
    return evaluate(Policy(episodes), env, lanes, episodes, max_steps), env.taken


@pytest.mark.parametrize("truncates", [False, True])
def test_each_lane_plays_its_own_episodes_to_their_end(truncates):
    evaluated, _ = played([[1, 4, 2], [3, 3, 5]], truncates=truncates)
    assert evaluated.lengths.tolist() == [[1, 4, 2], [3, 3, 5]]
    # lane 0: 0 + 1 + 2 + …; lane 1: 10 more a step
    assert evaluated.returns.tolist() == [[0.0, 6.0, 1.0], [33.0, 33.0, 60.0]]
    assert evaluated.ended.all()


def test_where_it_is_looked_at_less_often_the_counts_are_the_same(monkeypatch):
    """Elsewhere than on a CPU; the last episodes are stepped beyond their end."""
    lengths = [[1, 4, 2], [3, 3, 5]]
    often, taken = played(lengths)
    assert taken == 5  # it stops when the last episode is over
    monkeypatch.setattr(evaluation, "steps_between_looks", lambda device: 4)
    seldom, taken = played(lengths)
    assert taken == 8
    for name in ("counts", "lengths", "ended"):
        np.testing.assert_array_equal(getattr(seldom, name), getattr(often, name))


def test_steps_that_are_captured_and_replayed_count_as_those_from_python():
    """Captured are the fourth and fifth step; all before run from Python."""

    class InPlace(Countdown):
        def reset(self) -> tuple[Tensor, Tensor | None]:
            self.steps = torch.zeros_like(self.lengths)
            return self.observation(), None

        def step(self, action: Tensor) -> Outcome:
            before, outcome = self.steps, super().step(action)
            self.steps = before.copy_(self.steps)
            return outcome

    captures = []

    def capture(step: Callable[[], None]) -> Callable[[], None]:
        captures.append(step)
        return simulated(step)

    lengths = [1, 4, 9, 3, 3, 7]
    how = Policy(3), InPlace(lengths), 2, 3, 1_000, 0.5
    replayed = evaluate(*how, capture=capture)
    expected = evaluate(Policy(3), Countdown(lengths), 2, 3, 1_000, 0.5)
    assert len(captures) == 1
    for name in ("counts", "lengths", "ended"):
        np.testing.assert_array_equal(getattr(replayed, name), getattr(expected, name))


def test_an_episode_that_is_too_long_counts_with_what_it_collected():
    evaluated, taken = played([[2, 5, 6]], max_steps=5)
    assert (taken, evaluated.lengths.tolist()) == (5, [[2, 5, 5]])
    assert evaluated.returns.tolist() == [[1.0, 10.0, 10.0]]
    assert evaluated.ended.tolist() == [[True, True, False]]


def test_discounted_returns_and_events_are_counted_until_the_episode_is_over():
    class Odd(Countdown):
        def step(self, action: Tensor) -> Outcome:
            outcome = super().step(action)
            return replace(outcome, events={"odd": torch.full((2,), float(self.taken % 2))})

    evaluated = evaluate(Policy(2), Odd([4, 1]), 1, 2, 100, discount=0.5, events=("odd",))
    returns, discounted, odd = evaluated.counts[:, 0]
    assert returns.tolist() == [0 + 1 + 2 + 3, 0]
    assert discounted.tolist() == [0 + 1 / 2 + 2 / 4 + 3 / 8, 0]
    assert odd.tolist() == [2, 1]


def test_returns_are_summed_in_double_precision():
    """Single precision stops counting at 2^24."""

    class Rich(Countdown):
        def step(self, action: Tensor) -> Outcome:
            return replace(super().step(action), reward=torch.where(self.steps == 1, 2.0**24, 1.0))

    assert evaluate(Policy(1), Rich([4]), 1, 1, 100).returns.item() == 2**24 + 3


class Masked(Countdown):
    """Only the action that equals the lane's number is valid."""

    n_actions = 4

    def reset(self) -> tuple[Tensor, Tensor | None]:
        return super().reset()[0], torch.eye(4, dtype=torch.bool)

    def step(self, action: Tensor) -> Outcome:
        return replace(super().step(action), valid=torch.eye(4, dtype=torch.bool))


class FirstValid(Policy):
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        return valid.to(torch.uint8).argmax(-1)


def test_the_policy_is_told_which_actions_are_valid_at_every_step():
    evaluated = evaluate(FirstValid(2), Masked([3, 3, 3, 3]), lanes=2, episodes=2, max_steps=9)
    assert evaluated.returns.tolist() == [[0.0, 3.0], [6.0, 9.0]]
