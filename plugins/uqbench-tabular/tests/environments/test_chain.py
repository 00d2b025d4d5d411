"""The chain: its tables against hand-written numbers, and its steps against its tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch.nn.functional import one_hot
from uqbench_tabular.environments.chain import BACK, FORWARD, Chain, chain_mdp
from uqbench_tabular.environments.config import ChainConfig
from uqbench_tabular.planning import gain, optimal_gain, policy_iteration, uniform_policy

CHAIN = chain_mdp(ChainConfig())
POLICIES = [policy for policy in itertools.product((BACK, FORWARD), repeat=5) if policy[4]]


def long_run_reward(probabilities: np.ndarray) -> float:
    """Reward per step after ten thousand steps from the first state, by multiplying them out."""
    transitions, rewards = CHAIN.transitions.numpy(), CHAIN.rewards.numpy()
    step = np.einsum("sa,sat->st", probabilities, transitions)
    where = np.linalg.matrix_power(step, 10_000)[0]
    return float(np.einsum("s,sa,sat,sat->", where, probabilities, transitions, rewards))


def test_every_row_of_the_transitions_is_a_distribution():
    assert (CHAIN.transitions >= 0).all()
    assert torch.allclose(CHAIN.transitions.sum(-1), torch.ones(5, 2, dtype=torch.float64))


def test_the_tables_are_the_classics_with_a_tenth_of_its_rewards():
    for state in range(5):
        onward = min(state + 1, 4)
        assert CHAIN.transitions[state, FORWARD, onward].item() == 0.8
        assert CHAIN.transitions[state, FORWARD, 0].item() == pytest.approx(0.2)
        assert CHAIN.transitions[state, BACK, 0].item() == 0.8
        assert CHAIN.transitions[state, BACK, onward].item() == pytest.approx(0.2)
        assert CHAIN.rewards[state, FORWARD, 0].item() == 0.2
        assert CHAIN.rewards[state, FORWARD, onward].item() == (1.0 if state == 4 else 0.0)
    assert CHAIN.available.tolist() == [[True, True]] * 4 + [[False, True]]


def test_policy_iteration_finds_the_best_of_all_deterministic_policies():
    """Each policy is evaluated in NumPy; the optimum is at least all of them in every state."""
    transitions = CHAIN.transitions.numpy()
    rewards = (transitions * CHAIN.rewards.numpy()).sum(-1)
    states = np.arange(5)
    values = np.array(
        [
            np.linalg.solve(np.eye(5) - 0.9 * transitions[states, policy], rewards[states, policy])
            for policy in POLICIES
        ]
    )
    best = rewards + 0.9 * transitions @ values.max(0)
    assert np.allclose(policy_iteration(CHAIN, 0.9).numpy(), best, rtol=0, atol=1e-12)
    assert POLICIES[values.sum(1).argmax()] == (FORWARD,) * 5


def test_the_optimal_gain_is_the_best_of_all_deterministic_policies():
    gains = [long_run_reward(np.eye(2)[list(policy)]) for policy in POLICIES]
    assert optimal_gain(CHAIN).item() == pytest.approx(max(gains), abs=1e-12)
    assert POLICIES[int(np.argmax(gains))] == (FORWARD,) * 5


@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_the_discounted_optimum_has_the_optimal_gain(discount):
    best = policy_iteration(CHAIN, discount).masked_fill(~CHAIN.available, -math.inf).argmax(-1)
    achieved = gain(CHAIN, one_hot(best, 2).double())
    assert achieved.item() == pytest.approx(optimal_gain(CHAIN).item(), abs=1e-12)


def test_the_uniformly_random_policy_earns_36_in_175_steps():
    random = uniform_policy(CHAIN)
    for reward in (gain(CHAIN, random).item(), long_run_reward(random.numpy())):
        assert reward == pytest.approx(36 / 175, abs=1e-12)


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
        assert not terminated
        assert not truncated
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


def test_the_same_seed_gives_the_same_world():
    def walk(seed: int) -> list[int]:
        chain = Chain(ChainConfig())
        chain.reset(seed=seed)
        return [chain.step(FORWARD)[0] for _ in range(100)]

    assert walk(3) == walk(3)
    assert walk(3) != walk(4)
    assert Chain(ChainConfig()).observation_space == spaces.Discrete(5)


def test_a_chain_goes_on_from_what_was_saved():
    env, other = Chain(ChainConfig()), Chain(ChainConfig())
    env.reset(seed=4)
    for _ in range(50):
        env.step(FORWARD)
    other.load_state_dict(env.state_dict())
    assert [env.step(FORWARD)[:2] for _ in range(50)] == [
        other.step(FORWARD)[:2] for _ in range(50)
    ]
