"""The paper's environments: their models against closed forms, their steps against their models."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.config import DeepSeaOptions, PriorMDPOptions, WideNarrowOptions
from uqbench_tabular.deep_sea import LEFT, RIGHT, deep_sea
from uqbench_tabular.planning import MDP, optimal_gain
from uqbench_tabular.prior_mdp import prior_mdp
from uqbench_tabular.truth import optimal_q
from uqbench_tabular.wide_narrow import wide_narrow
from uqbench_tabular.world import World, WorldLanes

from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError

CPU = torch.device("cpu")
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors; the seeds are fixed."""
FIGURE_SUITES = ("deepsea", "widenarrow", "priormdp", "deepsea-deep")
WORLDS = {
    "deepsea": lambda options: deep_sea(DeepSeaOptions(**options)),
    "widenarrow": lambda options: wide_narrow(WideNarrowOptions(**options)),
    "priormdp": lambda options: prior_mdp(PriorMDPOptions(**options)),
}


def lanes(world: World, seeds=(0, 1), limit: TimeLimit | None = None) -> WorldLanes:
    env = WorldLanes(world, seeds, limit, CPU)
    env.reset()
    return env


def suite(name: str) -> dict:
    return tomllib.loads((files("uqbench_tabular") / "suites" / f"{name}.toml").read_text())


@pytest.mark.parametrize(
    ("states", "gain", "value"),
    [(4, 0.11106, 0.80907), (6, 0.09622, 0.59922), (8, 0.08351, 0.45627),
     (10, 0.07347, 0.35567), (12, 0.06540, 0.28121)],
)  # fmt: skip
def test_right_is_optimal_in_deepsea_and_worth_what_it_is(states, gain, value):
    world = deep_sea(DeepSeaOptions(states=states))
    assert world.oracle().tolist() == [RIGHT] * states
    assert world.oracle_gain() == pytest.approx(gain, abs=5e-6)
    q = optimal_q(DeepSeaOptions(states=states), 0.9).values
    assert q[0, RIGHT].item() == pytest.approx(value, abs=5e-6)
    assert q[0, LEFT].item() == pytest.approx(0.9 * value, abs=1e-5)  # stays, then goes right


@pytest.mark.parametrize("states", [3, 20, 40])
def test_right_stays_optimal_up_to_forty_states(states):
    world = deep_sea(DeepSeaOptions(states=states))
    assert world.oracle().tolist() == [RIGHT] * states
    assert world.oracle_gain() == pytest.approx(optimal_gain(world.mdp).item())


@pytest.mark.parametrize(("pairs", "width"), [(1, 6), (2, 4), (3, 2)])
def test_widenarrow_pays_its_high_reward_once_a_wide_state(pairs, width):
    """A cycle of 2N + 1 steps with N high rewards; for N = 1 the start is worth 0.5 / (1 − γ³)."""
    options = WideNarrowOptions(pairs=pairs, width=width)
    world = wide_narrow(options)
    assert world.oracle_gain() == pytest.approx(0.5 * pairs / (2 * pairs + 1))
    start = 0.5 * sum(0.9 ** (2 * k) for k in range(pairs)) / (1 - 0.9 ** (2 * pairs + 1))
    q = optimal_q(options, 0.9).values
    assert q[0, 0].item() == pytest.approx(start)
    assert q[0, 1].item() == pytest.approx(start - 0.5)
    assert q.isnan().equal(~world.mdp.available)
    assert world.mdp.available.sum(-1).tolist() == [width, 1] * pairs + [1]


def test_priormdps_are_draws_of_the_prior_that_the_seed_decides():
    """Means of 64 000 entries; μ has the variance β / (λ (α − 1)) = 4/3, 1/τ the mean 4/3."""
    worlds = [prior_mdp(PriorMDPOptions(states=40, actions=4, seed=seed)) for seed in range(10)]
    means = torch.stack([w.mdp.rewards for w in worlds]).numpy().ravel()
    variances = torch.stack([w.deviations for w in worlds]).numpy().ravel() ** 2
    for sample, expected in ((means, 0.0), (means**2, 4 / 3), (variances, 4 / 3)):
        assert abs(sample.mean() - expected) < SIGMAS * sample.std() / sample.size**0.5
    first = torch.cat([w.mdp.transitions[..., 0].flatten() for w in worlds]).numpy()
    assert stats.kstest(first, stats.beta(1, 39).cdf).pvalue > 1e-4
    again = prior_mdp(PriorMDPOptions(states=40, actions=4, seed=3))
    assert torch.equal(again.mdp.transitions, worlds[3].mdp.transitions)


def test_the_last_step_of_widenarrow_pays_nothing_and_is_certain():
    world = wide_narrow(WideNarrowOptions(pairs=2, width=3, low_reward=0.25))
    assert (world.mdp.rewards[-1] == 0).all()
    assert (world.deviations[-1] == 0).all()
    assert (world.deviations[:-1] == 1).all()
    assert (world.mdp.rewards[:-1].flatten().unique().tolist()) == [0.25, 0.5]


@pytest.mark.parametrize("kind", WORLDS)
def test_models_are_distributions_over_successors(kind):
    world = WORLDS[kind]({})
    assert torch.allclose(world.mdp.transitions.sum(-1), torch.ones(1, dtype=torch.float64))
    assert (world.mdp.transitions >= 0).all()


def test_steps_follow_the_model():
    """A random walk of 200 lanes: successors by a χ² test, rewards by their first two moments."""
    world = prior_mdp(PriorMDPOptions(states=3, actions=2, seed=5))
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
    world = wide_narrow(WideNarrowOptions(width=3))
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
    world = deep_sea(DeepSeaOptions(states=4))
    env = lanes(world, seeds=range(100))
    left = torch.zeros(100, dtype=torch.int64)
    regret = torch.stack([env.step(left).events["regret"] for _ in range(2_000)]).mean(0)
    error = regret.std().item() / 10
    assert abs(regret.mean().item() - world.oracle_gain()) < SIGMAS * error + 4 / 2_000
    assert error < 0.001


def test_a_lane_is_the_same_alone_and_among_others_and_resumed():
    world = prior_mdp(PriorMDPOptions())
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
def test_a_time_limit_begins_again_in_the_first_state(kind):
    env = lanes(deep_sea(DeepSeaOptions(states=5)), limit=TimeLimit(3, kind))
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
def test_actions_that_are_not_there_are_refused(action):
    env = lanes(wide_narrow(WideNarrowOptions()))
    env.step(torch.tensor([0, 3]))
    with pytest.raises(UqbenchError, match=rf"action {action} in state 1; expected one of \[0\]"):
        env.step(torch.tensor([0, action]))
    sea = lanes(deep_sea(DeepSeaOptions()))
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


@pytest.mark.parametrize("name", FIGURE_SUITES)
def test_the_numbers_in_the_suites_are_those_of_the_models(name):
    """Horizons, refresh rules, R_max and normalization, recomputed from the tasks' options."""
    given = suite(name)
    paper = given["budgets"]["paper"]
    references = given["normalization"]["regret"]["constants"]
    configs = {method["name"]: method for method in given["methods"]}
    assert (paper["seeds"], {task["discount"] for task in given["tasks"]}) == (10, {0.9})
    for task in given["tasks"]:
        options, where = task["options"], task["name"]
        world = WORLDS[task["environment"]](options)
        assert references[where]["zero"] == pytest.approx(world.oracle_gain(), abs=1e-12)
        assert world.oracle_gain() == pytest.approx(optimal_gain(world.mdp).item(), abs=1e-12)
        states = len(world.mdp.available)
        steps = paper.get("task_steps", {}).get(where, paper["steps"])
        wide = task["environment"] == "widenarrow"
        assert steps == (1_000 * options["pairs"] * options["width"] if wide else 1_250 * states)
        ube = configs["ube"]["config"] | configs["ube"].get("tasks", {}).get(where, {})
        best = world.mdp.rewards[world.mdp.transitions > 0].max().item()
        assert ube["r_max"] == pytest.approx(best, abs=1e-6)
        assert ube.get("replan_every", 5) == (states if wide else states + 1)
        for method in ("psrl", "mm"):
            settings = configs[method].get("config", {}) | configs[method].get("tasks", {}).get(
                where, {}
            )
            assert settings.get("replan_every", 5) == ube.get("replan_every", 5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeepSeaOptions(states=2), "states ≥ 3, .* got 2"),
        (lambda: WideNarrowOptions(width=1), "pairs ≥ 1 and width ≥ 2; got 1 and 1"),
        (lambda: WideNarrowOptions(deviation=-1.0), "deviation must not be negative"),
        (lambda: PriorMDPOptions(states=0), "at least one state and action; got 0, 2"),
        (lambda: PriorMDPOptions(lam=0.0), "lam must be positive; got 0.0"),
    ],
)
def test_options_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
