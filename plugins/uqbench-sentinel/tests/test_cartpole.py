"""CartPole for lanes and its vectors against Gymnasium's, bit for bit; its queries and agents."""

import tomllib
import warnings
from functools import partial
from importlib.resources import files

import gymnasium
import numpy as np
import pytest
import torch
from copied import check_copied_lanes
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from scipy.linalg import solve_discrete_are
from uqbench_sentinel import cartpole_agents as agents
from uqbench_sentinel.cartpole import CartPoleConfig, CartPoleLanes
from uqbench_sentinel.cartpole_queries import query_states
from uqbench_sentinel.tools.perfect_learner import measure

from uqbench.agent import Agent, EnvironmentInfo
from uqbench.environment import Outcome, TimeLimit
from uqbench.errors import UqbenchError
from uqbench.queries import visit
from uqbench.runner.train.evaluation import Evaluated, evaluate
from uqbench.testing.conformance.agent_runs import through_a_file

SEEDS = [3, 0, 2**63, 12345, 7]


def package(seed: int) -> gymnasium.Env:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that v1 exists
        env = gymnasium.make("CartPole-v0")
    env.reset(seed=seed)
    return env


def steadying(obs: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Half of the lanes keep the pole up, so that episodes reach their limit."""
    good = (obs[:, 2] + 0.3 * obs[:, 3] + 0.02 * obs[:, 0] + 0.1 * obs[:, 1] > 0).long()
    random = (u < 0.5).long()
    return torch.where(torch.arange(len(obs)) % 2 == 0, good, random)


def test_every_lane_is_the_package_bit_for_bit():
    """Observations, rewards, endings and resets of 1,500 steps; falls and limits both occur."""
    lanes = CartPoleLanes(CartPoleConfig(), SEEDS, TimeLimit(200, "truncation"))
    envs = [package(seed) for seed in SEEDS]
    assert lanes.observation_space == envs[0].observation_space
    obs, _ = lanes.reset()
    first = [env.reset(seed=seed)[0] for env, seed in zip(envs, SEEDS, strict=True)]
    assert np.array_equal(obs.numpy(), np.stack(first))
    generator = torch.Generator().manual_seed(0)
    falls = limits = 0
    for _ in range(1_500):
        action = steadying(obs, torch.rand(len(SEEDS), generator=generator))
        outcome = lanes.step(action)
        for lane, env in enumerate(envs):
            expected, reward, terminated, truncated, _ = env.step(int(action[lane]))
            assert np.array_equal(outcome.next_obs[lane].numpy(), expected)
            assert (outcome.reward[lane], outcome.terminated[lane]) == (reward, terminated)
            assert outcome.truncated[lane] == (truncated and not terminated)
            assert outcome.events["falls"][lane] == terminated
            if terminated or truncated:
                expected, _ = env.reset()
            assert np.array_equal(outcome.obs[lane].numpy(), expected)
            falls, limits = falls + terminated, limits + truncated
        obs = outcome.obs
    assert falls > 50
    assert limits > 5


def test_a_time_limit_may_be_terminal_and_is_no_fall():
    lanes = CartPoleLanes(CartPoleConfig(), [0, 1], TimeLimit(5, "terminal"))
    lanes.reset()
    outcomes = [lanes.step(torch.tensor([t % 2, t % 2])) for t in range(5)]
    assert outcomes[-1].terminated.all()
    assert not any(outcome.truncated.any() for outcome in outcomes)
    assert not outcomes[-1].events["falls"].any()
    assert not outcomes[-2].terminated.any()


def test_a_fall_on_the_last_step_is_a_fall():
    def pushed(limit: TimeLimit | None, steps: int) -> list[Outcome]:
        lanes = CartPoleLanes(CartPoleConfig(), [0], limit)
        lanes.reset()
        return [lanes.step(torch.tensor([1])) for _ in range(steps)]

    length = next(n for n in range(1, 50) if pushed(None, n)[-1].terminated)
    last = pushed(TimeLimit(length, "truncation"), length)[-1]
    assert last.terminated.item()
    assert not last.truncated.item()
    assert last.events["falls"].item() == 1


def test_it_goes_on_from_what_was_saved():
    limit = TimeLimit(200, "terminal")
    env, other = (CartPoleLanes(CartPoleConfig(), [3, 9], limit) for _ in range(2))
    obs, _ = env.reset()
    generator = torch.Generator().manual_seed(1)
    for t in range(377):
        if t == 77:
            other.load_state_dict(through_a_file(env.state_dict()))
        action = steadying(obs, torch.rand(2, generator=generator))
        expected = env.step(action)
        obs = expected.obs
        if t >= 77:
            given = other.step(action)
            assert torch.equal(given.obs, obs)
            assert torch.equal(given.terminated, expected.terminated)


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_it_is_gymnasiums_own_cartpole():
    ours = gymnasium.make_vec("uqbench_sentinel.vector:uqbench/CartPole-v0", num_envs=3)
    same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
    theirs = gymnasium.make_vec("CartPole-v0", 3, "sync", same_step)
    assert ours.observation_space == theirs.observation_space
    draws, ends = np.random.default_rng(0), 0
    for seed in (7, None, [3, 1, 2]):
        obs, _ = ours.reset(seed=seed)
        expected, _ = theirs.reset(seed=seed)
        assert np.array_equal(obs, expected)
        for _ in range(100):
            actions = draws.integers(2, size=3)
            obs, *given, infos = ours.step(actions)
            expected, *wanted, package = theirs.step(actions)
            assert np.array_equal(obs, expected)
            assert all(np.array_equal(g, w) for g, w in zip(given, wanted, strict=True))
            for i in np.flatnonzero(given[1] | given[2]):
                ends += 1
                assert np.array_equal(infos["final_obs"][i], package["final_obs"][i])
    assert ends > 5


def test_a_copied_pole_falls_as_its_original_and_rises_again_only_with_its_random_numbers():
    poles = partial(CartPoleLanes, CartPoleConfig())
    check_copied_lanes(poles, lambda env: env._observations(), [1] * 99)


def test_the_query_states_are_upright_and_most_unseen_ones_have_fallen():
    """With the same norm; but for those that begin."""
    states = query_states(CartPoleConfig())
    assert len(set(states.places)) > 240
    assert {i for i, _ in states.first(64).places} == set(range(64))
    seen = [obs for _, _, obs in visit(states, CartPoleLanes(CartPoleConfig(), states.seeds))]
    upright = torch.cat(seen)
    fallen = states.unseen(upright)
    assert (upright[:, 2].abs() < 0.21).all()
    assert (fallen[:, 2].abs() > 0.21).double().mean() > 0.75
    assert torch.equal(fallen.sort(-1).values, upright.sort(-1).values)


CPU, CONFIG = torch.device("cpu"), agents.CartPoleScriptConfig()
INFO = EnvironmentInfo(spaces.Box(-np.inf, np.inf, (4,)), 2, 0.99, total_steps=1000)
EPISODES = 100


def test_another_action_or_environment_is_refused():
    env = CartPoleLanes(CartPoleConfig(), [3])
    env.reset()
    with pytest.raises(UqbenchError, match="expected actions 0 or 1"):
        env.step(torch.tensor([2]))
    other = EnvironmentInfo(spaces.Box(-1, 1, (25,)), 5, 0.99, total_steps=1000)
    for agent in (agents.PushToTheFall, agents.LinearQuadratic):
        with pytest.raises(UqbenchError, match="expected the environment cartpole"):
            agent(other, [0], CONFIG, CPU)


def balance(agent: Agent) -> Evaluated:
    env = CartPoleLanes(CartPoleConfig(), range(EPISODES), TimeLimit(200, "terminal"))
    return evaluate(agent, env, 1, EPISODES, 200, events=("falls",))


def test_the_regulator_never_falls_and_the_script_always_does():
    exploring = agents.CartPoleScriptConfig(epsilon_final=0.05, epsilon_decay_steps=10)
    for config in (CONFIG, exploring):  # evaluation does not explore
        assert not balance(agents.LinearQuadratic(INFO, [0], config, CPU)).counts[2].any()
        assert balance(agents.PushToTheFall(INFO, [0], config, CPU)).counts[2].all()


def test_a_script_explores_as_methods_do():
    config = agents.CartPoleScriptConfig(epsilon_final=0.1, epsilon_decay_steps=300)
    script = agents.PushToTheFall(INFO, range(200), config, CPU)
    obs = torch.ones(200, 1, 4)
    falls = []
    for _ in range(1_000):
        falls.append((script.act(obs) == 0).double().mean())  # half of the random actions
        script.observe(None)
    share = torch.stack(falls)
    assert share[:10].mean() == pytest.approx(0.49, abs=0.05)  # 2,000 actions: se .011
    assert share[300:].mean() == pytest.approx(0.05, abs=0.003)  # 140,000: se .0006
    assert torch.equal(script.policy(obs), torch.ones(200, 1, dtype=torch.int64))


def test_the_scale_of_the_score_is_that_of_random_play_and_of_the_regulator():
    """Falls per step: in the long run, and while ε falls from 1 to 0.05."""
    path = files("uqbench_sentinel") / "suites" / "cartpole.toml"
    suite = tomllib.loads(path.read_text(encoding="utf-8"))
    stated = suite["normalization"]["falls_per_step"]["constants"]["cartpole"]
    rng, lanes, falls = np.random.default_rng(0), 200, []
    env = CartPoleLanes(CartPoleConfig(), range(lanes), TimeLimit(200, "terminal"))
    env.reset()
    for _ in range(1_200):
        outcome = env.step(torch.from_numpy(rng.integers(0, 2, lanes)))
        falls.append(outcome.events["falls"].mean().item())
    rate = np.mean(falls[200:])  # once the lanes' episodes are out of step
    error = 0.53 * np.sqrt(rate / (1_000 * lanes))  # 0.53: an episode's deviation over its mean
    assert abs(rate - stated["zero"]) < 5 * np.hypot(error, stated["zero_se"])
    decay = measure(2_000, 100)[0] / 2_000
    error = decay.std(ddof=1) / np.sqrt(len(decay))
    assert abs(decay.mean() - stated["one"]) < 5 * np.hypot(error, 1.9 / 20_000) + 1 / 2_000


def test_the_linearization_is_the_textbook_formula():
    """Barto, Sutton & Anderson's equations at the upright position; 1.1 kg in all, pole 0.1 kg."""
    a, b = agents.linearized()
    turn, expected = 0.5 * (4 / 3 - 0.1 / 1.1), np.eye(4)
    expected[0, 1] = expected[2, 3] = 0.02
    expected[3, 2] = 0.02 * 9.8 / turn
    expected[1, 2] = -0.02 * 0.05 / 1.1 * 9.8 / turn
    force = 0.02 * np.array([0, 1 / 1.1 + 0.05 / 1.1**2 / turn, 0, -1 / 1.1 / turn])
    assert np.abs(a - expected).max() < 1e-8
    assert np.abs(b - force).max() < 1e-6  # a push of 10 N, not an infinitesimal one


def test_the_gain_satisfies_the_riccati_equation_and_stabilizes():
    a, b = agents.linearized()
    gain = agents.regulator()
    assert np.abs(np.linalg.eigvals(a - np.outer(b, gain))).max() < 1
    cost = solve_discrete_are(a, b[:, None], np.eye(4), 1e-3)
    assert b @ cost @ a / (1e-3 + b @ cost @ b) == pytest.approx(gain, rel=1e-6)
