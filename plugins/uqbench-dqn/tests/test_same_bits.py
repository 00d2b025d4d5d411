"""Two ways of executing the same steps are compared, bit by bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN

from uqbench.agent import EnvironmentInfo
from uqbench.runner.train.compiling import Graph
from uqbench.testing.capture import simulated
from uqbench.testing.same_bits import compare_captured, difference
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")


LANES = 3


def make() -> tuple[DQN, RotatingPixels]:
    env = RotatingPixels(LANES)
    info = EnvironmentInfo(env.observation_space, env.n_actions, 0.9, 100)
    config = DQNConfig(batch_size=4, learning_starts=1, target_sync_period=5, hidden=(8,))
    return DQN(info, range(LANES), config, CPU), env


def test_a_captured_agent_ends_in_the_state_of_one_run_from_python() -> None:
    assert compare_captured(make, 40, simulated) is None


def test_a_capture_that_forgets_its_steps_is_found() -> None:
    def forgets(step: Callable[[], None]) -> Graph:
        step()
        return lambda: None

    found = compare_captured(make, 40, forgets)
    assert found is not None
    assert found.where.startswith("state")


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        ({"a": torch.ones(2)}, {"a": torch.tensor([1.0, 1.5])}, "x['a']"),
        ({"a": torch.ones(2)}, {"a": torch.ones(2).double()}, "x['a']"),
        ({"a": torch.ones(2)}, {"a": torch.ones(3)}, "x['a']"),
        ({"a": 1}, {"a": 2}, "x['a']"),
        ({"a": 1}, {"b": 1}, "x: other parts"),
        ({"a": torch.tensor([torch.nan])}, {"a": torch.zeros(1)}, "x['a']"),
    ],
)
def test_the_first_difference_is_named(one, other, where: str) -> None:
    found = difference(one, other, "x")
    assert found is not None
    assert found.where == where
    assert difference(one, one, "x") is None
