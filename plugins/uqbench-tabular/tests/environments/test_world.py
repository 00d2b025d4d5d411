"""Worlds as lanes: their steps against their models, regret, limits and refusals."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.environments import config as worlds
from uqbench_tabular.environments.chain import Chain
from uqbench_tabular.environments.deep_sea import deep_sea
from uqbench_tabular.environments.prior_mdp import make_drawn_lanes, prior_mdp
from uqbench_tabular.environments.wide_narrow import wide_narrow
from uqbench_tabular.environments.world import World, WorldLanes
from uqbench_tabular.planning import MDP

from uqbench.adapters.gymnasium_lanes import GymnasiumLanes
from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError
from uqbench.testing.conformance.environments import EnvironmentSubject
from uqbench.testing.results import results

CPU = torch.device("cpu")
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors; the seeds are fixed."""


def lanes(world: World, seeds=(0, 1), limit: TimeLimit | None = None) -> WorldLanes:
    env = WorldLanes(world, seeds, limit, CPU)
    env.reset()
    return env


def test_steps_follow_the_model():
    """A random walk of 200 lanes: successors by a χ² test, rewards by their first two moments."""
    world = prior_mdp(worlds.PriorMDPConfig(states=3, actions=2, seed=5))
    env, g = lanes(world, seeds=range(200)), torch.Generator().manual_seed(0)
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
    world = wide_narrow(worlds.WideNarrowConfig(width=3))
    env, other = lanes(world), lanes(world)
    for t in range(9):
        best = env.step(world.oracle()[env._state])
        out = other.step(torch.full((2,), 2 if t % 3 == 0 else 0))
        assert best.events["regret"].tolist() == [0, 0]
        assert (best.reward.std() > 0) == (t % 3 != 2)
        assert out.events["regret"].tolist() == pytest.approx([0.5 * (t % 3 == 0)] * 2, abs=1e-6)


def test_the_regret_of_a_policy_grows_by_the_difference_of_gains():
    """Left everywhere collects nothing; the oracle its exact gain, by 100 lanes of 2,000 steps."""
    world = deep_sea(worlds.DeepSeaConfig(states=4))
    env, left = lanes(world, seeds=range(100)), torch.zeros(100, dtype=torch.int64)
    regret = torch.stack([env.step(left).events["regret"] for _ in range(2_000)]).mean(0)
    error = regret.std().item() / 10
    assert abs(regret.mean().item() - world.oracle_gain()) < SIGMAS * error + 4 / 2_000
    assert error < 0.001


def chains(seeds, limit):
    return GymnasiumLanes(lambda: Chain(worlds.ChainConfig()), seeds, limit, has_state_dict=True)


THREE = [
    deep_sea(worlds.DeepSeaConfig()),
    wide_narrow(worlds.WideNarrowConfig()),
    prior_mdp(worlds.PriorMDPConfig()),
]
WORLDS = [
    *((partial(WorldLanes, one, device=CPU), {"events": ("regret",)}) for one in THREE),
    (partial(make_drawn_lanes, worlds.DrawnMDPConfig(), device=CPU), {"events": ("regret",)}),
    (chains, {"single": lambda: Chain(worlds.ChainConfig())}),
]


@pytest.mark.parametrize(
    ("make", "more"), WORLDS, ids=["deepsea", "widenarrow", "priormdp", "drawn", "chain"]
)
def test_worlds_keep_the_rules_of_environments(make, more):
    """Lanes are the same alone, among others and resumed, and end at a limit; regret may be < 0."""
    subject = EnvironmentSubject(name="world", make=make, **more)
    for rule in ("lanes", "state", "limit", "reset" if "single" in more else "seeds"):
        (found,) = results([subject], f"environment-{rule}")
        assert found.status == "passed", str(found)


def test_after_a_time_limit_it_starts_again_in_the_first_state():
    env = lanes(deep_sea(worlds.DeepSeaConfig(states=5)), limit=TimeLimit(3, "terminal"))
    seen = [env.step(torch.ones(2, dtype=torch.int64)).obs.tolist() for _ in range(9)]
    assert seen[2::3] == [[0, 0]] * 3


@pytest.mark.parametrize("action", [1, -1, 6])
def test_actions_that_do_not_exist_are_refused(action):
    env = lanes(wide_narrow(worlds.WideNarrowConfig()))
    env.step(torch.tensor([0, 3]))
    with pytest.raises(UqbenchError, match=rf"action {action} in state 1; expected one of \[0\]"):
        env.step(torch.tensor([0, action]))
    sea = lanes(deep_sea(worlds.DeepSeaConfig()))
    with pytest.raises(UqbenchError, match=r"action 2 in state 0; expected one of \[0, 1\]"):
        sea.step(torch.tensor([0, 2]))


def test_rounding_never_leads_to_a_successor_that_is_impossible():
    """A row whose sum is a little below one, and a number above it."""
    odds = torch.tensor([[[1 - 1e-7, 0.0]], [[0.0, 1.0]]]).double()
    mdp = MDP(odds, torch.zeros_like(odds), torch.ones(2, 1, dtype=torch.bool))
    env = lanes(World(mdp, torch.zeros_like(mdp.rewards), 0.9), seeds=(0,))
    u, zero = torch.tensor([1 - 2**-24]), torch.zeros(1, dtype=torch.int64)
    assert env._move(zero, zero, u, torch.zeros(1))[0].item() == 0
