"""Q-learning: one update by hand."""

import pytest
import torch
from uqbench_tabular.agents.q_learning import QLearning

from uqbench.testing.worlds import step_of_actors

GAMMA = 0.9


def test_q_learning_makes_the_known_step(make):
    """``0.5 + 0.1 (1 + 0.9 · 2 − 0.5)``; a masked action of the next state does not count."""
    for valid, best in ((None, 7.0), (torch.tensor([[True, False]]), 2.0)):
        agent = make(QLearning, seeds=(0,), states=2)
        agent.values = torch.tensor([[[0.5, 0.0], [2.0, 7.0]]], dtype=torch.float64)
        zero, no = torch.zeros(1, dtype=torch.int64), torch.tensor([False])
        agent.observe(step_of_actors(zero, zero, torch.ones(1), no, no, zero + 1, valid))
        expected = 0.5 + 0.1 * (1 + GAMMA * best - 0.5)
        assert agent.values[0].tolist() == [[pytest.approx(expected), 0.0], [2.0, 7.0]]
