"""Tests that every agent written for lanes must pass, to inherit."""

from __future__ import annotations

import copy
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from uqbench.agent import Agent
from uqbench.environment import LaneEnv
from uqbench.lanes import Capturable
from uqbench.testing.capture import run
from uqbench.testing.worlds import RotatingPixels, as_step

QUESTIONS = 4
"""Number of observations on which predictions are compared."""


class AgentTests(ABC):
    """Tests to inherit; the subclass makes the agent.

    ::

        class TestMine(AgentTests):
            def make(self, seeds):
                return Mine(RotatingPixels.info(), seeds, MineConfig(...), torch.device("cpu"))

    Bit-identity needs one torch thread: import ``uqbench.testing.fixtures.one_torch_thread`` in
    ``conftest.py``. Choose a config with which ``steps`` steps exercise everything: learning, a
    target network that is synced, a replay buffer that overflows.

    Attributes:
        steps: length of the runs.
        stops: steps after which a run resumes from its saved state.
    """

    steps = 160
    stops: Sequence[int] = (20, 110)

    @abstractmethod
    def make(self, seeds: Sequence[int]) -> Agent:
        """A fresh agent for ``world``, one lane per seed."""

    def world(self, lanes: int, first: int) -> LaneEnv:
        """The environment: ``lanes`` deterministic worlds, numbered from ``first`` on."""
        return RotatingPixels(lanes, first)

    def test_a_lane_does_the_same_alone_and_among_others_bit_for_bit(self) -> None:
        """A run depends on its own seed alone."""
        alone = self.train([5], first=5)
        among = self.train([3, 5, 8, 2, 9], first=4)
        for t, (one, five) in enumerate(zip(alone.actions, among.actions, strict=True)):
            assert one[0] == five[1], f"action at step {t}"
        for t, (own, all_) in enumerate(zip(alone.metrics, among.metrics, strict=True)):
            different = [name for name in own if not same(all_[name][1], own[name][0])]
            assert different == [], f"metrics at step {t}"
        for name, value in self.predictions(alone, lane=0).items():
            assert same(self.predictions(among, lane=1)[name], value), name

    def test_lanes_of_different_seeds_differ(self) -> None:
        """Seeds are used."""
        trained = self.train([5, 6], first=0)
        predicted = [self.predictions(trained, lane) for lane in range(2)]
        actions = torch.stack(trained.actions)
        assert not same(*predicted) or not torch.equal(actions[:, 0], actions[:, 1])

    def test_a_resumed_agent_equals_an_uninterrupted_one_bit_for_bit(self) -> None:
        """A checkpoint holds everything that later steps depend on."""
        for stop in self.stops:
            uninterrupted, resumed = self.make([3, 5]), None
            env = self.world(2, 0)
            obs, valid = env.reset()
            for t in range(self.steps):
                if t == stop:
                    resumed = self.make([3, 5])
                    resumed.load_state_dict(through_a_file(uninterrupted.state_dict()))
                action = uninterrupted.act(obs, valid).clone()
                if resumed is not None:
                    assert torch.equal(resumed.act(obs, valid), action), f"step {t} of stop {stop}"
                obs = obs.clone()
                outcome = env.step(action)
                for agent in (uninterrupted, resumed):
                    if agent is not None:
                        agent.observe(as_step(t, obs, action, outcome))
                obs, valid = outcome.obs, outcome.valid
            assert resumed is not None
            assert same(resumed.metrics(), uninterrupted.metrics())
            assert same(resumed.state_dict(), uninterrupted.state_dict())

    def test_policy_and_uncertainty_change_nothing(self) -> None:
        """Evaluation leaves no trace."""
        trained = self.train([3, 5], first=0)
        agent, twin = trained.agent, copy.deepcopy(trained.agent)
        before, generator = copy.deepcopy(agent.state_dict()), torch.get_rng_state()
        answers = agent.policy(trained.questions)
        agent.uncertainty(trained.questions)
        assert torch.equal(agent.policy(trained.questions), answers)
        assert torch.equal(agent.policy(trained.questions[:, 1:2]), answers[:, 1:2])
        assert torch.equal(torch.get_rng_state(), generator)
        assert same(agent.state_dict(), before)
        obs = trained.questions[:, 0]
        assert torch.equal(agent.act(obs), twin.act(obs))

    def test_actions_are_valid(self) -> None:
        """Masks are respected, also by random actions."""
        trained = self.train([3, 5], first=0)
        obs, n_actions = trained.questions, self.world(1, 0).n_actions
        for only in range(n_actions):
            valid = torch.zeros(*obs.shape[:2], n_actions, dtype=torch.bool)
            valid[..., only] = True
            assert (trained.agent.policy(obs, valid) == only).all()
            for agent in (self.make([3, 5]), copy.deepcopy(trained.agent)):
                assert (agent.act(obs[:, 0], valid[:, 0]) == only).all()

    def test_captured_steps_are_those_from_python_bit_for_bit(self) -> None:
        """Steps of one phase differ only in the tensors' values."""
        plain, captured = self.make([3, 5]), self.make([3, 5])
        if not isinstance(plain, Capturable):
            pytest.skip("its steps are not captured")
        run(plain, 2, self.steps, captured=False)
        run(captured, 2, self.steps, captured=True)
        assert same(captured.metrics(), plain.metrics())
        assert same(captured.state_dict(), plain.state_dict())

    def train(self, seeds: Sequence[int], first: int) -> Trained:
        """Run a fresh agent in the worlds from ``first`` on."""
        agent, env = self.make(seeds), self.world(len(seeds), first)
        actions, metrics, seen = [], [], []
        obs, valid = env.reset()
        for t in range(self.steps):
            obs = obs.clone()
            seen.append(obs)
            actions.append(agent.act(obs, valid).clone())
            outcome = env.step(actions[-1])
            agent.observe(as_step(t, obs, actions[-1], outcome))
            metrics.append({name: value.clone() for name, value in agent.metrics().items()})
            obs, valid = outcome.obs, outcome.valid
        return Trained(agent, actions, metrics, torch.stack(seen[-QUESTIONS:], 1))

    def predictions(self, trained: Trained, lane: int) -> dict[str, Tensor]:
        """One lane's predictions and policy at the last observations."""
        predicted = trained.agent.uncertainty(trained.questions)
        answers = {} if predicted is None else vars(predicted)
        known = {name: value[lane] for name, value in answers.items() if value is not None}
        return known | {"policy": trained.agent.policy(trained.questions)[lane]}


class Trained(NamedTuple):
    """A run of an agent.

    Attributes:
        agent: in its final state.
        actions: of each step, ``[L]``.
        metrics: after each step.
        questions: the last observations, ``[L, QUESTIONS, *obs]``.
    """

    agent: Agent
    actions: list[Tensor]
    metrics: list[dict[str, Tensor]]
    questions: Tensor


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    """A state after a round trip through a checkpoint's file."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


def same(one: Any, other: Any) -> bool:
    """Whether nested states or metrics are equal, bit for bit; NaN equals NaN."""
    pairs = list(zip(_leaves(one), _leaves(other), strict=True))
    return all(
        torch.equal(a.nan_to_num(-7.0), b.nan_to_num(-7.0)) if isinstance(a, Tensor) else a == b
        for a, b in pairs
    )


def _leaves(state: Any) -> list[Any]:
    leaves: list[Any] = tree_leaves(dict(state) if hasattr(state, "items") else state)
    return leaves
