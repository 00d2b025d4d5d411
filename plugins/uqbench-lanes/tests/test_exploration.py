"""Greedy and ε-greedy choices, and the objects that agents explore with."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from uqbench.lanes import Clock, EpsilonGreedy, Uniform, epsilon_greedy, greedy

RARE = 1e-6  # least p-value: a test of frequencies fails for one fresh seed in a million
DRAWS = 60_000


def uniforms(lanes: int = DRAWS) -> Tensor:
    return torch.rand(lanes, 2, generator=torch.Generator().manual_seed(0))


def chosen(epsilon: float, values: list[float], valid: list[bool] | None = None) -> np.ndarray:
    """How often each action is taken in many lanes with the same values."""
    mask = None if valid is None else torch.tensor(valid).expand(DRAWS, -1)
    actions = epsilon_greedy(torch.tensor(values).expand(DRAWS, -1), uniforms(), epsilon, mask)
    assert (actions.shape, actions.dtype) == ((DRAWS,), torch.int64)
    return np.bincount(actions.numpy(), minlength=len(values))


GREEDY = [
    ([1.0, 3.0, 2.0], None, 1), ([2.0, 2.0, 2.0], None, 0), ([0.0, 5.0, 5.0], None, 1),
    ([-5.0, -5.0, 9.0, -4.0], [1, 1, 0, 1], 3), ([-5.0, -5.0, 9.0, -4.0], [1, 1, 0, 0], 0),
    ([-5.0, -5.0, 9.0, -4.0], [0, 1, 0, 0], 1)]  # fmt: skip


@pytest.mark.parametrize(("values", "valid", "best"), GREEDY)
def test_greedy_takes_the_highest_valid_value_and_of_equals_the_lowest_action(values, valid, best):
    mask = None if valid is None else torch.tensor(valid) > 0
    assert greedy(torch.tensor(values), mask) == best


def test_epsilon_zero_is_greedy_and_epsilon_one_never_looks_at_values() -> None:
    values = torch.randn(1000, 5, generator=torch.Generator().manual_seed(1))
    u = uniforms(1000)
    assert torch.equal(epsilon_greedy(values, u, 0.0), greedy(values))
    assert torch.equal(epsilon_greedy(values, u, 1.0), epsilon_greedy(-values, u, 1.0))


@pytest.mark.parametrize("epsilon", [0.03, 0.3, 1.0])
def test_every_action_is_explored_with_probability_epsilon_over_their_number(epsilon):
    """Chi-square of 60,000 choices; one in a million."""
    expected = np.full(5, DRAWS * epsilon / 5)
    expected[3] += DRAWS * (1 - epsilon)
    assert stats.chisquare(chosen(epsilon, [0.0, 1.0, 2.0, 9.0, 3.0]), expected).pvalue > RARE


@pytest.mark.parametrize("valid", [[1, 0, 1, 0, 1], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0]])
def test_exploration_is_uniform_over_valid_actions(valid: list[bool]) -> None:
    """Chi-square of 60,000 choices; one in a million."""
    allowed = np.array(valid, bool)
    found = chosen(1.0, [0.0, 9.0, 1.0, 2.0, 10.0], list(map(bool, valid)))
    assert not found[~allowed].any()
    assert stats.chisquare(found[allowed]).pvalue > RARE


@pytest.mark.parametrize("actions", [1, 2, 3, 5, 6, 7, 18, 100])
def test_the_largest_uniform_number_below_one_gives_the_last_action(actions: int) -> None:
    """Rounding in single precision must not reach the action after the last."""
    largest = torch.tensor([[0.0, float(np.nextafter(np.float32(1), np.float32(0)))]])
    valid = torch.cat([torch.ones(1, actions), torch.zeros(1, 2)], 1).bool()
    assert epsilon_greedy(torch.zeros(1, actions + 2), largest, 1.0, valid) == actions - 1
    assert epsilon_greedy(torch.zeros(1, actions), largest, 1.0) == actions - 1


def test_epsilon_greedy_replaces_actions_by_its_own_draws_with_a_decaying_epsilon() -> None:
    clock, seeds = Clock(torch.device("cpu")), [3, 4, 9]
    exploration = EpsilonGreedy(seeds, 5, clock, initial=1.0, final=0.2, start=10, decay_steps=40)
    values = torch.randn(3, 1, 5, generator=torch.Generator().manual_seed(0))
    for t in range(60):
        epsilon = 1 - 0.8 * min(max((t - 10) / 40, 0), 1)
        assert exploration.metrics()["epsilon"].tolist() == pytest.approx([epsilon] * 3)
        expected = epsilon_greedy(values, Uniform(seeds, "explore", (1, 2)).at(t), epsilon)
        assert torch.equal(exploration.explore(greedy(values), exploration.noise()), expected)
        clock.advance()
