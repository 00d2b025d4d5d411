"""Worlds as lanes: their steps against their models, regret, limits and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.environments.config import DeepSeaConfig, PriorMDPConfig, WideNarrowConfig
from uqbench_tabular.environments.deep_sea import deep_sea
from uqbench_tabular.environments.prior_mdp import prior_mdp
from uqbench_tabular.environments.wide_narrow import wide_narrow
from uqbench_tabular.environments.world import World, WorldLanes
from uqbench_tabular.planning import MDP

from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError

CPU = torch.device("cpu")
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors; the seeds are fixed."""
WORLDS = {
    "deepsea": deep_sea(DeepSeaConfig()),
    "widenarrow": wide_narrow(WideNarrowConfig()),
    "priormdp": prior_mdp(PriorMDPConfig()),
}


def lanes(world: World, seeds=(0, 1), limit: TimeLimit | None = None) -> WorldLanes:
    env = WorldLanes(world, seeds, limit, CPU)
    env.reset()
    return env


@pytest.mark.parametrize("kind", WORLDS)
def test_models_are_distributions_over_successors(kind):
    world = WORLDS[kind]
    assert torch.allclose(world.mdp.transitions.sum(-1), torch.ones(1, dtype=torch.float64))
    assert (world.mdp.transitions >= 0).all()


def test_steps_follow_the_model():
    """A random walk of 200 lanes: successors by a χ² test, rewards by their first two moments."""
    world = prior_mdp(PriorMDPConfig(states=3, actions=2, seed=5))
    env = lanes(world, seeds=range(200))
    g = torch.Generator().manual_seed(0)
    state, seen = torch.zeros(200, dtype=torch.int64), []
    for _ in range(150):
        action = torch.randint(2, (200,), generator=g)
        out = env.step(action)
        assert not (out.terminated | out.truncated).any()
        assert torch.equal(out.obs, out.next_obs)
        seen.append(torch.stack([state, action, out.obs, out.reward]))
        state = out.obs
    s, a, following, reward = torch.cat(seen, 1).double()
    for i, j in np.ndindex(3, 2):
        chosen = (s == i) & (a == j)
        counts = [(chosen & (following == k)).sum().item() for k in range(3)]
        expected = world.mdp.transitions[i, j].numpy() * sum(counts)
        assert stats.chisquare(counts, expected).pvalue > 1e-4
        k = int(np.argmax(counts))
        at, deviation = (i, j, k), world.deviations[i, j, k].item()
        noise = (reward[chosen & (following == k)] - world.mdp.rewards[at]) / deviation
        assert abs(noise.mean()) < SIGMAS / counts[k] ** 0.5
        assert abs((noise**2).mean() - 1) < SIGMAS * (2 / counts[k]) ** 0.5


def test_the_oracle_has_no_regret_and_noise_that_is_common_cancels():
    world = wide_narrow(WideNarrowConfig(width=3))
    env, other = lanes(world), lanes(world)
    for t in range(9):
        best = env.step(world.oracle()[env._state])
        worse = torch.full((2,), 2 if t % 3 == 0 else 0)
        out = other.step(worse)
        assert best.events["regret"].tolist() == [0, 0]
        assert (best.reward.std() > 0) == (t % 3 != 2)
        assert out.events["regret"].tolist() == pytest.approx([0.5 * (t % 3 == 0)] * 2, abs=1e-6)


def test_the_regret_of_a_policy_grows_by_the_difference_of_gains():
    """Left everywhere collects nothing; the oracle its exact gain, by 100 lanes of 2,000 steps."""
    world = deep_sea(DeepSeaConfig(states=4))
    env = lanes(world, seeds=range(100))
    left = torch.zeros(100, dtype=torch.int64)
    regret = torch.stack([env.step(left).events["regret"] for _ in range(2_000)]).mean(0)
    error = regret.std().item() / 10
    assert abs(regret.mean().item() - world.oracle_gain()) < SIGMAS * error + 4 / 2_000
    assert error < 0.001


def test_a_lane_is_the_same_alone_and_among_others_and_resumed():
    world = prior_mdp(PriorMDPConfig())
    many, alone = lanes(world, seeds=(7, 3, 9)), lanes(world, seeds=(3,))
    g = torch.Generator().manual_seed(0)
    for t in range(600):
        action = torch.randint(2, (3,), generator=g)
        if t == 300:
            resumed = WorldLanes(world, (3,), None, CPU)
            resumed.load_state_dict(alone.state_dict())
            alone = resumed
        out, own = many.step(action), alone.step(action[1:2])
        assert torch.equal(out.reward[1:2], own.reward)
        assert torch.equal(out.obs[1:2], own.obs)
        assert torch.equal(out.events["regret"][1:2], own.events["regret"])


@pytest.mark.parametrize("kind", ["terminal", "truncation"])
def test_after_a_time_limit_it_starts_again_in_the_first_state(kind):
    env = lanes(deep_sea(DeepSeaConfig(states=5)), limit=TimeLimit(3, kind))
    right = torch.ones(2, dtype=torch.int64)
    for t in range(1, 10):
        out = env.step(right)
        end = out.terminated if kind == "terminal" else out.truncated
        other = out.truncated if kind == "terminal" else out.terminated
        assert end.tolist() == [t % 3 == 0] * 2
        assert not other.any()
        if t % 3 == 0:
            assert out.obs.tolist() == [0, 0]


@pytest.mark.parametrize("action", [1, -1, 6])
def test_actions_that_do_not_exist_are_refused(action):
    env = lanes(wide_narrow(WideNarrowConfig()))
    env.step(torch.tensor([0, 3]))
    with pytest.raises(UqbenchError, match=rf"action {action} in state 1; expected one of \[0\]"):
        env.step(torch.tensor([0, action]))
    sea = lanes(deep_sea(DeepSeaConfig()))
    with pytest.raises(UqbenchError, match=r"action 2 in state 0; expected one of \[0, 1\]"):
        sea.step(torch.tensor([0, 2]))


def test_rounding_never_leads_to_a_successor_that_is_impossible():
    """A row whose sum is a little below one, and a number above it."""
    mdp = MDP(
        torch.tensor([[[1 - 1e-7, 0.0]], [[0.0, 1.0]]], dtype=torch.float64),
        torch.zeros(2, 1, 2, dtype=torch.float64),
        torch.ones(2, 1, dtype=torch.bool),
    )
    env = lanes(World(mdp, torch.zeros_like(mdp.rewards), 0.9), seeds=(0,))
    u = torch.tensor([1 - 2**-24])
    zero = torch.zeros(1, dtype=torch.int64)
    assert env._move(zero, zero, u, torch.zeros(1))[0].item() == 0
