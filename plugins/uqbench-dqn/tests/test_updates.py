"""Gradient steps after 1, 3, 6, 10, … environment steps, as many as an event has."""

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN
from uqbench_dqn.updates import WithRepeats

from uqbench.agent import EnvironmentInfo
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
    config = DQNConfig(hidden=(4,), **{"schedule": "triangular", "updates_per_event": 4} | settings)
    agent = Counting(info, [3, 5], config, torch.device("cpu"))
    agent.drawn = []
    synced = []
    for step in transitions([3, 5], (5,), 3, 60):
        agent.observe(step)
        online, target = agent.online.layers[0].weight, agent.target.layers[0].weight
        synced.append(torch.equal(online, target))
    return agent, synced


def test_an_event_has_its_gradient_steps_and_every_fifth_syncs_the_target():
    agent, synced = trained(learning_starts=1)
    assert [step for step, _ in agent.drawn] == [step for step in EVENTS for _ in range(4)]
    equal = [after for after, same in enumerate(synced, start=1) if same]
    assert equal == [*range(15, 21), *range(55, 61)]
    assert trained(learning_starts=11)[0].drawn[0][0] == 15


def test_minibatches_are_new_draws_from_all_that_is_stored():
    agent, _ = trained(learning_starts=1)
    for step, index in agent.drawn:
        assert index.shape == (2, 32)
        assert 0 <= index.min() <= index.max() < step
    late = torch.stack([index for step, index in agent.drawn if step > 20])
    assert len(late.flatten(1).unique(dim=0)) == len(late)
    # 40 batches of 32: a transition of the first twenty is missed with probability below 1e-6
    assert set(range(20)) < set(late.flatten().tolist())


SCHEDULES = [
    {"learning_starts": 1},
    {"learning_starts": 15},
    {"learning_starts": 16},
    {"schedule": "periodic", "learn_period": 1, "learning_starts": 40},
    {"schedule": "periodic", "learn_period": 4, "learning_starts": 39},
    {"schedule": "periodic", "learn_period": 4, "learning_starts": 1},
]  # fmt: skip


@pytest.mark.parametrize("settings", SCHEDULES)
def test_the_config_knows_how_many_gradient_steps_a_run_takes(settings):
    agent, _ = trained(**settings)
    taken = [step for step, _ in agent.drawn]
    for steps in range(61):
        assert agent.config.gradient_steps(steps) == sum(step <= steps for step in taken)


class Prioritized(WithRepeats):
    """Proportional prioritization (Schaul et al. 2016), one class: new transitions weigh most."""

    def __init__(self, seeds, count, replay, schedule, clock):
        super().__init__(seeds, count, replay, schedule, clock)
        self.priorities = torch.ones(len(seeds), replay.capacity, dtype=torch.float64)

    def at(self, draws):
        mass = self.priorities[:, : int(self._replay.stored)].cumsum(-1)
        return torch.searchsorted(mass, self._uniform.at(draws) * mass[:, -1:], right=True)

    def state_dict(self):
        return {"priorities": self.priorities.clone()}

    def load_state_dict(self, state):
        self.priorities.copy_(state["priorities"])


class PrioritizedDQN(DQN):
    def draw(self, seeds, schedule):
        return Prioritized(seeds, self.config.batch_size, self.replay, schedule, self.clock)

    def learn(self, index: Tensor) -> Tensor:
        errors = super().learn(index)
        self.updates.draw.priorities.scatter_(1, index, errors.double() + 1e-3)
        return errors


TRIANGULAR = {"schedule": "triangular", "updates_per_event": 4, "learning_starts": 1}
PERIODIC = {"schedule": "periodic", "learn_period": 2, "learning_starts": 8}


@pytest.mark.parametrize("settings", [TRIANGULAR, PERIODIC])
def test_prioritized_replay_is_one_class_under_each_schedule_and_resumes(settings):
    """Eight steps after a checkpoint, the weights of an agent that was not interrupted."""
    info = EnvironmentInfo(spaces.Box(-1, 1, (5,)), 3, 0.9, total_steps=1_000)
    config = DQNConfig(hidden=(4,), batch_size=8, **settings)
    of = info, [3, 5], config, torch.device("cpu")
    agent, again = PrioritizedDQN(*of), PrioritizedDQN(*of)
    steps = list(transitions([3, 5], (5,), 3, 60))
    for step in steps[:40]:
        agent.observe(step)
    again.load_state_dict(agent.state_dict())
    for step in steps[40:]:
        agent.observe(step)
        again.observe(step)
    assert torch.equal(agent.online.layers[0].weight, again.online.layers[0].weight)
    assert agent.updates.draw.priorities.unique().numel() > 10
