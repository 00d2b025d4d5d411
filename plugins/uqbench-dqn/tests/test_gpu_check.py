"""What ``uqbench doctor --gpu`` compares, tried where a CPU stands in for the GPU."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
import torch
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN

from uqbench.agent import EnvironmentInfo
from uqbench.cli.gpu_page import gpu_page
from uqbench.environment import LaneEnv, Outcome
from uqbench.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.runner.gpu_check import compare_captured, compare_lanes, difference, updates_per_second
from uqbench.runner.train.compiling import Graph
from uqbench.testing.capture import simulated
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")


LANES = 3


def make() -> tuple[DQN, RotatingPixels]:
    env = RotatingPixels(LANES)
    info = EnvironmentInfo(env.observation_space, env.n_actions, 0.9, 100)
    config = DQNConfig(batch_size=4, learning_starts=1, target_sync_period=5, hidden=(8,))
    return DQN(info, range(LANES), config, CPU), env


class Late(LaneEnv):
    """Another environment, whose reward is one bit off in one step."""

    def __init__(self, env: LaneEnv, at: int) -> None:
        self.env, self.at, self.taken = env, at, 0
        self.observation_space, self.n_actions = env.observation_space, env.n_actions

    def reset(self):
        return self.env.reset()

    def step(self, action: torch.Tensor) -> Outcome:
        outcome = self.env.step(action)
        if self.taken == self.at:
            outcome.reward[1] = torch.nextafter(outcome.reward[1], torch.tensor(9.0))
        self.taken += 1
        return outcome


def test_copies_of_an_environment_agree_and_a_single_bit_is_found() -> None:
    assert compare_lanes(RotatingPixels(LANES), RotatingPixels(LANES), 60) is None
    found = compare_lanes(RotatingPixels(LANES), Late(RotatingPixels(LANES), 50), 60)
    assert found is not None
    assert found.where.startswith("step 50")
    assert "reward" in found.where
    assert 0 < found.largest < 1e-6


def test_a_captured_agent_ends_in_the_state_of_one_run_from_python() -> None:
    assert compare_captured(make, 40, simulated) is None


def test_a_capture_that_forgets_its_steps_is_found() -> None:
    def forgets(step: Callable[[], None]) -> Graph:
        step()
        return lambda: None

    found = compare_captured(make, 40, forgets)
    assert found is not None
    assert found.where.startswith("state")


def test_speed_is_that_of_all_lanes_after_the_warm_up() -> None:
    ticks = count(100.0, 2.0)
    assert updates_per_second(*make(), 10, None, lambda: next(ticks)) == LANES * 10 / 2


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


def test_without_a_gpu_the_page_is_refused() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UqbenchError, match="needs a CUDA device"):
        next(gpu_page(Host.load()))
