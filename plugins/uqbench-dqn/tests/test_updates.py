"""Gradient steps after 1, 3, 6, 10, … environment steps, as many as an event has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.updates import Schedule, Triangular, WithRepeats

from uqbench.agent import EnvironmentInfo
from uqbench.lanes import Clock
from uqbench.testing.worlds import transitions

EVENTS = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55]


class Counting(DQN):
    """Keeps the slots of every minibatch."""

    drawn: list[tuple[int, Tensor]]

    def learn(self, index: Tensor) -> Tensor:
        self.drawn.append((self.clock.t + 1, index))
        return super().learn(index)


def trained(**settings: Any) -> tuple[Counting, list[bool]]:
    """After 60 steps; and after which steps the target network equaled the online one."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
    triangular = {"schedule": "triangular", "updates_per_event": 4}
    config = DQNConfig(hidden=(4,), **triangular | settings)
    agent = Counting(info, [3, 5], config, torch.device("cpu"))
    agent.drawn = []
    synced = []
    for step in transitions([3, 5], (5,), 3, 60):
        agent.observe(step)
        online, target = agent.online.layers[0].weight, agent.target.layers[0].weight
        synced.append(torch.equal(online, target))
    return agent, synced


def test_an_event_has_its_gradient_steps_and_every_fifth_syncs_the_target() -> None:
    agent, synced = trained(learning_starts=1)
    assert [step for step, _ in agent.drawn] == [step for step in EVENTS for _ in range(4)]
    assert [after for after, equal in enumerate(synced, start=1) if equal] == [
        *range(15, 21),
        *range(55, 61),
    ]


def test_minibatches_are_new_draws_from_all_that_is_stored() -> None:
    agent, _ = trained(learning_starts=1)
    for step, index in agent.drawn:
        assert index.shape == (2, 32)
        assert index.min() >= 0
        assert index.max() < step
    late = torch.stack([index for step, index in agent.drawn if step > 20])
    assert len(late.flatten(1).unique(dim=0)) == len(late)
    # 40 batches of 32: a transition of the first twenty is missed with probability below 1e-6
    assert set(range(20)) < set(late.flatten().tolist())


def test_nothing_is_learned_before_learning_starts() -> None:
    agent, _ = trained(learning_starts=11)
    assert agent.drawn[0][0] == 15


@pytest.mark.parametrize("settings", [
    {"learning_starts": 1},
    {"learning_starts": 15},
    {"learning_starts": 16},
    {"schedule": "periodic", "learn_period": 1, "learning_starts": 40},
    {"schedule": "periodic", "learn_period": 4, "learning_starts": 39},
    {"schedule": "periodic", "learn_period": 4, "learning_starts": 1},
])  # fmt: skip
def test_the_config_knows_how_many_gradient_steps_a_run_takes(settings) -> None:
    agent, _ = trained(**settings)
    taken = [step for step, _ in agent.drawn]
    for steps in range(61):
        assert agent.config.gradient_steps(steps) == sum(step <= steps for step in taken)


class Prioritized(WithRepeats):
    """Proportional prioritization (Schaul et al. 2016), one class: new transitions weigh most."""

    def __init__(self, seeds, count, replay, schedule, clock) -> None:
        super().__init__(seeds, count, replay, schedule, clock)
        self.priorities = torch.ones(len(seeds), replay.capacity, dtype=torch.float64)

    def at(self, draws: Clock) -> Tensor:
        mass = self.priorities[:, : int(self._replay.stored)].cumsum(-1)
        return torch.searchsorted(mass, self._uniform.at(draws) * mass[:, -1:], right=True)

    def state_dict(self) -> dict[str, Any]:
        return {"priorities": self.priorities.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.priorities.copy_(state["priorities"])


class PrioritizedDQN(DQN):
    def draw(self, seeds: Sequence[int], schedule: Schedule) -> Prioritized:
        return Prioritized(seeds, self.config.batch_size, self.replay, schedule, self.clock)

    def learn(self, index: Tensor) -> Tensor:
        errors = super().learn(index)
        self.updates.draw.priorities.scatter_(1, index, errors.double() + 1e-3)
        return errors


@pytest.mark.parametrize("settings", [
    {"schedule": "triangular", "updates_per_event": 4, "learning_starts": 1},
    {"schedule": "periodic", "learn_period": 2, "learning_starts": 8},
])  # fmt: skip
def test_prioritized_replay_is_one_class_under_each_schedule_and_resumes(settings) -> None:
    """Eight steps after a checkpoint, the weights of an agent that was not interrupted."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
    config = DQNConfig(hidden=(4,), batch_size=8, **settings)
    made = lambda: PrioritizedDQN(info, [3, 5], config, torch.device("cpu"))  # noqa: E731
    agent, again = made(), made()
    steps = list(transitions([3, 5], (5,), 3, 60))
    for step in steps[:40]:
        agent.observe(step)
    again.load_state_dict(agent.state_dict())
    for step in steps[40:]:
        agent.observe(step)
        again.observe(step)
    assert torch.equal(agent.online.layers[0].weight, again.online.layers[0].weight)
    assert agent.updates.draw.priorities.unique().numel() > 10


def test_what_has_nine_times_the_priority_is_drawn_nine_times_as_often() -> None:
    agent, _ = trained(learning_starts=1)
    draw = Prioritized([3, 5], 4_000, agent.replay, Triangular(agent.config, 1), agent.clock)
    draw.priorities[:, 7] = 9.0
    drawn = draw.at(agent.updates.draws)
    stored = int(agent.replay.stored)
    share = (drawn == 7).double().mean().item()
    assert share == pytest.approx(9 / (stored + 8), abs=0.02)
    assert set(drawn.flatten().tolist()) == set(range(stored))
