"""Two ways of executing the same steps are compared, bit by bit."""

from collections.abc import Callable

import pytest
import torch
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.dqn import DQN

from uqbench.runner.train.compiling import Graph
from uqbench.testing.same_bits import compare_captured, difference
from uqbench.testing.worlds import RotatingPixels


def test_a_capture_that_forgets_its_steps_is_found():
    def forgets(step: Callable[[], None]) -> Graph:
        step()
        return lambda: None

    def make() -> tuple[DQN, RotatingPixels]:
        config = DQNConfig(batch_size=4, learning_starts=1, hidden=(8,))
        return DQN(RotatingPixels.info(), range(3), config, torch.device("cpu")), RotatingPixels(3)

    assert compare_captured(make, 40, forgets).where.startswith("state")


DIFFERENCES = [
    ({"a": torch.ones(2)}, {"a": torch.tensor([1.0, 1.5])}, "x['a']"),
    ({"a": torch.ones(2)}, {"a": torch.ones(2).double()}, "x['a']"),
    ({"a": torch.ones(2)}, {"a": torch.ones(3)}, "x['a']"),
    ({"a": 1}, {"a": 2}, "x['a']"),
    ({"a": 1}, {"b": 1}, "x: other parts"),
    ({"a": torch.tensor([torch.nan])}, {"a": torch.zeros(1)}, "x['a']"),
]


@pytest.mark.parametrize(("one", "other", "where"), DIFFERENCES)
def test_the_first_difference_is_named(one, other, where):
    assert difference(one, other, "x").where == where
    assert difference(one, one, "x") is None
