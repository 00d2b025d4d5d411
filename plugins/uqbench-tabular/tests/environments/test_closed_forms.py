"""Worlds whose values are known: tables, gains and values in closed form, moments of draws."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.environments import config as configs
from uqbench_tabular.environments.chain import BACK, FORWARD, Chain, chain_mdp
from uqbench_tabular.environments.config import ChainConfig, DeepSeaConfig, PriorMDPConfig
from uqbench_tabular.environments.deep_sea import LEFT, RIGHT, deep_sea, make_lanes
from uqbench_tabular.environments.ground_truth import optimal_q
from uqbench_tabular.environments.prior_mdp import prior_mdp
from uqbench_tabular.environments.wide_narrow import wide_narrow

# -- the chain -----------------------------------------------------------------------------------


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
    error, seen = np.sqrt(expected * (1 - expected) / n), CHAIN.available.numpy()
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


# -- DeepSea -------------------------------------------------------------------------------------


WORTH = [(4, 0.11106, 0.80907), (6, 0.09622, 0.59922), (8, 0.08351, 0.45627),
(10, 0.07347, 0.35567), (12, 0.06540, 0.28121)]  # fmt: skip


@pytest.mark.parametrize(("states", "gain", "value"), WORTH)
def test_right_is_optimal_in_deepsea_and_worth_what_it_is(states, gain, value):
    world = deep_sea(DeepSeaConfig(states=states))
    assert world.oracle().tolist() == [RIGHT] * states
    assert world.oracle_gain() == pytest.approx(gain, abs=5e-6)
    q = optimal_q(DeepSeaConfig(states=states), 0.9).values
    assert q[0, RIGHT].item() == pytest.approx(value, abs=5e-6)
    assert q[0, LEFT].item() == pytest.approx(0.9 * value, abs=1e-5)  # stays, then goes right


def test_the_noise_of_deepseas_rewards_is_as_large_as_the_cost_of_a_step_to_the_right():
    world = deep_sea(DeepSeaConfig(states=8))
    assert (world.deviations == 0.1 * math.exp(-2)).all()
    assert (world.mdp.rewards[:-1, RIGHT] == -world.deviations[:-1, RIGHT]).all()
    assert (world.mdp.rewards[:, LEFT] == 0).all()


def test_going_right_for_ever_has_no_regret_in_any_step_of_deepsea():
    """The oracle beside the agent meets the same successes, failures and noise."""
    sea = make_lanes(DeepSeaConfig(states=6), range(20), None, torch.device("cpu"))
    sea.reset()
    right = torch.full((20,), RIGHT)
    assert not any(sea.step(right).events["regret"].any() for _ in range(300))


# -- WideNarrow ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("pairs", "width"), [(1, 6), (2, 4), (3, 2)])
def test_widenarrow_pays_its_high_reward_once_a_wide_state(pairs, width):
    """A cycle of 2N + 1 steps with N high rewards; for N = 1 the start is worth 0.5 / (1 − γ³)."""
    config = configs.WideNarrowConfig(pairs=pairs, width=width)
    world = wide_narrow(config)
    assert world.oracle_gain() == pytest.approx(0.5 * pairs / (2 * pairs + 1))
    start = 0.5 * sum(0.9 ** (2 * k) for k in range(pairs)) / (1 - 0.9 ** (2 * pairs + 1))
    q = optimal_q(config, 0.9).values
    assert q[0, 0].item() == pytest.approx(start)
    assert q[0, 1].item() == pytest.approx(start - 0.5)
    assert q.isnan().equal(~world.mdp.available)
    assert world.mdp.available.sum(-1).tolist() == [width, 1] * pairs + [1]


def test_the_last_step_of_widenarrow_pays_nothing_and_is_certain():
    world = wide_narrow(configs.WideNarrowConfig(pairs=2, width=3, low_reward=0.25))
    assert (world.mdp.rewards[-1] == 0).all()
    assert (world.deviations[-1] == 0).all()
    assert (world.deviations[:-1] == 1).all()
    assert (world.mdp.rewards[:-1].flatten().unique().tolist()) == [0.25, 0.5]


# -- PriorMDP ------------------------------------------------------------------------------------


SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors; the seeds are fixed."""


def test_priormdps_are_draws_of_the_prior_that_the_seed_decides():
    """Means of 64 000 entries; μ has the variance β / (λ (α − 1)) = 4/3, 1/τ the mean 4/3."""
    worlds = [prior_mdp(PriorMDPConfig(states=40, actions=4, seed=seed)) for seed in range(10)]
    means = torch.stack([w.mdp.rewards for w in worlds]).numpy().ravel()
    variances = torch.stack([w.deviations for w in worlds]).numpy().ravel() ** 2
    for sample, expected in ((means, 0.0), (means**2, 4 / 3), (variances, 4 / 3)):
        assert abs(sample.mean() - expected) < SIGMAS * sample.std() / sample.size**0.5
    first = torch.cat([w.mdp.transitions[..., 0].flatten() for w in worlds]).numpy()
    assert stats.kstest(first, stats.beta(1, 39).cdf).pvalue > 1e-4
    again = prior_mdp(PriorMDPConfig(states=40, actions=4, seed=3))
    assert torch.equal(again.mdp.transitions, worlds[3].mdp.transitions)


def test_a_larger_lambda_shrinks_the_mean_rewards_and_nothing_else():
    """By 1/√λ, and with them what the oracle earns: λ = 300 leaves a seventeenth."""
    one, many = (prior_mdp(PriorMDPConfig(states=4, actions=2, lam=lam)) for lam in (1.0, 300.0))
    assert torch.allclose(many.mdp.rewards * 300**0.5, one.mdp.rewards)
    assert torch.equal(many.mdp.transitions, one.mdp.transitions)
    assert torch.equal(many.deviations, one.deviations)
    assert many.oracle_gain() * 300**0.5 == pytest.approx(one.oracle_gain())
