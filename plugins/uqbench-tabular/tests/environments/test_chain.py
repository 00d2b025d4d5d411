"""The chain: its tables against hand-written numbers, and its steps against its tables."""

import numpy as np
import pytest
import torch
from uqbench_tabular.environments.chain import BACK, FORWARD, Chain, chain_mdp
from uqbench_tabular.environments.config import ChainConfig

CHAIN = chain_mdp(ChainConfig())


def test_the_tables_are_the_classics_with_a_tenth_of_its_rewards():
    for state in range(5):
        onward = min(state + 1, 4)
        for action, probable, other in ((FORWARD, onward, 0), (BACK, 0, onward)):
            row = torch.zeros(5).double()
            row[[probable, other]] = torch.tensor([0.8, 0.2]).double()
            assert torch.allclose(CHAIN.transitions[state, action], row)
        assert CHAIN.rewards[state, FORWARD, 0].item() == 0.2
        assert CHAIN.rewards[state, FORWARD, onward].item() == (1.0 if state == 4 else 0.0)
    assert CHAIN.available.tolist() == [[True, True]] * 4 + [[False, True]]


def test_steps_follow_the_tables():
    """18,000 moves: one of 18 estimates is 5 standard errors off with probability 1e-5."""
    chain = Chain(ChainConfig())
    chain.reset(seed=0)
    counts = np.zeros((5, 2, 5))
    for _ in range(18_000):
        state = chain._state
        free = np.flatnonzero(chain._available[state])
        action = int(free[np.argmin(counts[state, free].sum(-1))])
        following, reward, terminated, truncated, _ = chain.step(action)
        assert reward == CHAIN.rewards[state, action, following].item()
        assert (terminated, truncated) == (False, False)
        counts[state, action, following] += 1
    n = counts.sum(-1, keepdims=True).clip(min=1)
    expected = CHAIN.transitions.numpy()
    error = np.sqrt(expected * (1 - expected) / n)
    seen = CHAIN.available.numpy()
    assert counts[seen].sum(-1).min() > 250
    assert (np.abs(counts / n - expected) <= 5 * error + 1e-12)[seen].all()


def test_the_mask_is_published_and_another_action_is_refused():
    chain = Chain(ChainConfig(slip=0.0))
    state, info = chain.reset(seed=0)
    for expected in range(1, 5):
        assert info["action_mask"].tolist() == [True, True]
        state, *_, info = chain.step(FORWARD)
        assert state == expected
    assert info["action_mask"].tolist() == [False, True]
    with pytest.raises(ValueError, match="action 0 is not available in state 4"):
        chain.step(BACK)
