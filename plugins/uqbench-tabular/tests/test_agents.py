"""The agents on the chain: what all of them promise, and what planning agents do."""

from __future__ import annotations

import copy
import io
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.bql import BayesianQLearning
from uqbench_tabular.certainty_equivalence import CertaintyEquivalence
from uqbench_tabular.chain import BACK, FORWARD, Chain, chain_mdp
from uqbench_tabular.config import (
    BQLConfig,
    CertaintyEquivalenceConfig,
    ChainOptions,
    MomentMatchingConfig,
    QLearningConfig,
    TabularConfig,
    UBEConfig,
)
from uqbench_tabular.moment_matching import MomentMatching
from uqbench_tabular.planning import optimal_gain, policy_iteration
from uqbench_tabular.psrl import PSRL
from uqbench_tabular.q_learning import QLearning
from uqbench_tabular.tabular import TabularAgent
from uqbench_tabular.ube import UBE

from uqbench.agent import EnvSpec, Step, Uncertainty
from uqbench.environment import GymnasiumLanes
from uqbench.lanes import generators
from uqbench.seeding import derive_seed

CPU = torch.device("cpu")
STATES = torch.arange(5)
CONFIGS = {
    PSRL: TabularConfig,
    CertaintyEquivalence: CertaintyEquivalenceConfig,
    UBE: UBEConfig,
    MomentMatching: MomentMatchingConfig,
    QLearning: QLearningConfig,
    BayesianQLearning: BQLConfig,
}
MODEL_BASED = (PSRL, CertaintyEquivalence, UBE, MomentMatching)
every_agent = pytest.mark.parametrize("kind", CONFIGS)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def make(kind: type[TabularAgent] = PSRL, seeds=(0, 1), **settings: Any) -> TabularAgent:
    spec = EnvSpec(spaces.Discrete(5), 2, 0.9, 1_000)
    return kind(spec, seeds, CONFIGS[kind](**settings), CPU)


def worlds(seeds) -> GymnasiumLanes:
    return GymnasiumLanes(
        lambda: Chain(ChainOptions()), [derive_seed("world", seed) for seed in seeds]
    )


@dataclass
class Run:
    """An agent in its worlds, and what happened: (state, action, reward) ``[T, L]``."""

    agent: TabularAgent
    env: GymnasiumLanes
    now: tuple[torch.Tensor, torch.Tensor | None]
    trace: list[torch.Tensor]

    def go(self, steps: int) -> Run:
        obs, valid = self.now
        for _ in range(steps):
            action = self.agent.act(obs, valid)
            out = self.env.step(action)
            self.trace.append(torch.stack([obs, action, out.reward]))
            step = Step(self.agent.t, obs, action, out.reward, out.terminated, out.truncated,
                        out.next_obs, out.next_valid)  # fmt: skip
            self.agent.observe(step)
            obs, valid = out.obs, out.valid
        self.now = obs, valid
        return self

    def rewards(self) -> torch.Tensor:
        return torch.stack(self.trace)[:, 2]


def start(kind: type[TabularAgent] = PSRL, seeds=(0, 1), **settings: Any) -> Run:
    env = worlds(seeds)
    return Run(make(kind, seeds, **settings), env, env.reset(), [])


def tensors(state: Any) -> list[torch.Tensor]:
    """Every tensor of a state, in order."""
    if isinstance(state, dict):
        return [leaf for value in state.values() for leaf in tensors(value)]
    return [state] if isinstance(state, torch.Tensor) else []


def stated_tensors(stated: Uncertainty) -> dict[str, torch.Tensor]:
    """What an agent states, by name."""
    return {name: value for name, value in vars(stated).items() if value is not None}


def same(given: Any, expected: Any) -> bool:
    pairs = zip(tensors(given), tensors(expected), strict=True)
    return given["t"] == expected["t"] and all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (PSRL, {}),
        (CertaintyEquivalence, {"epsilon": 1.0}),
        (UBE, {"zeta": 1.0}),
        (MomentMatching, {}),
        (QLearning, {"epsilon": 1.0}),
        (BayesianQLearning, {}),
    ],
)
def test_only_available_actions_are_taken(kind, settings):
    """The chain refuses others; here the far end was reached, where one is not available."""
    run = start(kind, seeds=(0, 1, 2, 3), **settings).go(300)
    state, action, _ = torch.stack(run.trace).unbind(1)
    assert (state == 4).sum(0).min() > 0
    assert (action[state == 4] == FORWARD).all()
    assert (action[state != 4] == BACK).any()
    assert torch.equal(run.agent.available, chain_mdp(ChainOptions()).available.expand(4, -1, -1))


def test_the_plan_reckons_with_the_masks_that_have_been_seen():
    """An untried action looks attractive to its prior; planning must not count on it."""
    agent = make(seeds=(0,), prior_mu0=5.0)
    everywhere = agent.action_values()
    assert torch.allclose(everywhere, torch.tensor(50.0, dtype=torch.float64))
    for t in range(200):
        agent.act(torch.tensor([4]), torch.tensor([[False, True]]))
        no = torch.tensor([False])
        agent.observe(Step(t, torch.tensor([4]), torch.tensor([1]), torch.tensor([0.0]), no, no,
                           torch.tensor([4])))  # fmt: skip
    value = agent.action_values()[0, 4]
    assert value[FORWARD] < 0.5 * value[BACK]
    assert agent.policy(torch.tensor([[4]])).tolist() == [[FORWARD]]
    assert agent.plan[0, 4, FORWARD] < 0.5 * agent.plan[0, 4, BACK]


@every_agent
def test_a_lane_is_the_same_alone_and_among_others_bit_for_bit(kind):
    alone = start(kind, seeds=(3,)).go(265)  # random numbers come in blocks of 256 steps
    four = start(kind, seeds=(0, 3, 7, 8)).go(265)
    assert torch.equal(torch.stack(four.trace)[:, :, 1], torch.stack(alone.trace)[:, :, 0])
    for given, expected in zip(
        tensors(four.agent.state_dict()), tensors(alone.agent.state_dict()), strict=True
    ):
        assert torch.equal(given[1], expected[0])
    stated = stated_tensors(four.agent.uncertainty(STATES.expand(4, -1)))
    expected = stated_tensors(alone.agent.uncertainty(STATES[None]))
    assert stated.keys() == expected.keys() != set()
    assert all(torch.equal(stated[name][1], expected[name][0]) for name in expected)
    for name, value in alone.agent.metrics().items():
        assert torch.equal(four.agent.metrics()[name][1], value[0])
    actions = torch.stack(four.trace)[:, 1]
    assert not torch.equal(actions[:, 0], actions[:, 1])


@every_agent
@pytest.mark.parametrize("stop", [0, 30, 40])
def test_a_resumed_agent_goes_on_bit_for_bit(kind, stop):
    """Stopped before the first step, and between and at renewals of the plan."""
    settings = {"replan_every": 20} if kind in MODEL_BASED else {}
    unbroken = start(kind, **settings).go(stop)
    file = io.BytesIO()
    torch.save(unbroken.agent.state_dict(), file)
    file.seek(0)
    agent = make(kind, **settings)
    agent.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(agent.available, unbroken.agent.available)
    resumed = Run(agent, copy.deepcopy(unbroken.env), unbroken.now, [])
    more = len(unbroken.trace)
    unbroken.go(50)
    resumed.go(50)
    assert torch.equal(torch.stack(unbroken.trace[more:]), torch.stack(resumed.trace))
    assert same(resumed.agent.state_dict(), unbroken.agent.state_dict())
    for name, value in unbroken.agent.metrics().items():
        assert torch.equal(resumed.agent.metrics()[name], value)


@every_agent
def test_policy_uncertainty_and_metrics_change_nothing(kind):
    run = start(kind).go(103)
    twin = copy.deepcopy(run)
    before = copy.deepcopy(run.agent.state_dict())
    obs = STATES.expand(2, -1)
    policy, stated = run.agent.policy(obs), run.agent.uncertainty(obs)
    run.agent.metrics()
    assert torch.equal(run.agent.policy(obs), policy)
    again = stated_tensors(run.agent.uncertainty(obs))
    assert all(torch.equal(again[name], t) for name, t in stated_tensors(stated).items())
    assert same(run.agent.state_dict(), before)
    assert torch.equal(torch.stack(run.go(50).trace), torch.stack(twin.go(50).trace))


def test_the_plan_is_the_optimum_of_one_posterior_draw_and_lasts():
    run = start(replan_every=10).go(40)
    posterior = run.agent.posterior
    run.go(1)
    draw = posterior.sample(generators((0, 1), "psrl/plan", 40), 1, run.agent.available)
    expected = policy_iteration(draw, 0.9)[:, 0]
    assert torch.equal(run.agent.plan, expected)
    run.go(9)
    assert torch.equal(run.agent.plan, expected)
    state, action, _ = torch.stack(run.trace[40:]).long().unbind(1)
    for lane in range(2):
        for s, a in zip(state[:, lane], action[:, lane], strict=True):
            valid = run.agent.available[lane, s]
            assert a == expected[lane, s].masked_fill(~valid, -torch.inf).argmax()
    run.go(1)
    assert not torch.equal(run.agent.plan, expected)


def test_certainty_equivalence_explores_with_probability_epsilon():
    """ε = 1 is the uniformly random policy; ε = 0 is that of the plan."""
    greedy = start(CertaintyEquivalence, epsilon=0.0).go(50).agent
    assert torch.equal(greedy.act(torch.tensor([0, 2])), greedy.plan[[0, 1], [0, 2]].argmax(-1))
    run = start(CertaintyEquivalence, seeds=range(20), epsilon=1.0).go(200)
    state, action, _ = torch.stack(run.trace).unbind(1)
    forward = action[state != 4].mean().item()
    assert abs(forward - 0.5) < 5 * 0.5 / (state != 4).sum().item() ** 0.5


def test_uncertainty_states_samples_of_q_with_their_mean_and_variance():
    agent = start(value_samples=16).go(60).agent
    obs = torch.tensor([[3, 0, 4], [1, 1, 2]])
    stated = agent.uncertainty(obs)
    assert stated.value_samples.shape == (2, 3, 2, 16)
    table = agent.value_samples()
    for lane, m, action in torch.cartesian_prod(
        torch.arange(2), torch.arange(3), torch.arange(2)
    ).tolist():
        expected = table[lane, :, obs[lane, m], action]
        assert torch.equal(stated.value_samples[lane, m, action], expected)
    assert torch.allclose(stated.mean, stated.value_samples.mean(-1))
    assert torch.allclose(stated.epistemic_var, stated.value_samples.var(-1))
    samples = stated.value_samples[0]
    assert not torch.equal(samples[..., 0], samples[..., 1])
    agent.t += 1  # other numbers at another step
    assert not torch.equal(agent.uncertainty(obs).value_samples, stated.value_samples)


def test_with_data_the_posterior_of_q_closes_in_on_the_truth():
    """A posterior's spread falls with the root of the visits; every pair gets as many here."""
    mdp = chain_mdp(ChainOptions())
    truth = policy_iteration(mdp, 0.9)
    agent = make(seeds=(0,))
    agent.available = mdp.available[None]
    spread = [agent.metrics()["value_std"].item()]
    g = torch.Generator().manual_seed(0)
    pairs = mdp.available.nonzero()
    for rounds in (40, 600):
        for s, a in pairs[..., None]:
            odds = mdp.transitions[s, a][0]
            for following in torch.multinomial(odds, rounds, True, generator=g)[:, None]:
                reward = mdp.rewards[s, a, following]
                agent.posterior = agent.posterior.given(s, a, reward, following)
        spread.append(agent.metrics()["value_std"].item())
    assert spread[1] < spread[0] / 1.5
    assert spread[2] < spread[1] / 3  # a quarter, but for the samples of this estimate
    stated = agent.uncertainty(STATES[None])
    error = (stated.mean[0] - truth).abs()[mdp.available]
    assert (error < 5 * stated.epistemic_var[0].sqrt()[mdp.available]).all()
    assert agent.policy(STATES[None]).tolist() == [[FORWARD] * 5]


def test_psrl_comes_to_earn_the_optimal_gain():
    """Twelve seeds, the last 500 of 1,000 steps; the mean's standard error is about 0.008."""
    rewards = start(seeds=range(12)).go(1_000).rewards()
    optimum = optimal_gain(chain_mdp(ChainOptions())).item()
    late = rewards[500:].mean(0)
    error = late.std().item() / 12**0.5
    assert abs(late.mean().item() - optimum) < 4 * error
    assert error < 0.02
    assert rewards[:200].mean() < 0.8 * optimum  # it had to learn


def test_metrics_count_the_pairs_tried():
    run = start()
    assert run.agent.metrics()["pairs_tried"].tolist() == [0, 0]
    run.go(30)
    state, action, _ = torch.stack(run.trace).long().unbind(1)
    tried = [
        len({*zip(s.tolist(), a.tolist(), strict=True)})
        for s, a in zip(state.T, action.T, strict=True)
    ]
    assert run.agent.metrics()["pairs_tried"].tolist() == tried


@every_agent
@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_an_episode_that_ends_is_refused(kind, end):
    agent = make(kind, seeds=(0,))
    obs = torch.tensor([0])
    flags = {"terminated": torch.tensor([False]), "truncated": torch.tensor([False])}
    flags[end] = torch.tensor([True])
    with pytest.raises(ValueError, match=f"at step 7: {kind.__name__} expects a continuing task"):
        agent.observe(Step(t=7, obs=obs, action=obs, reward=torch.zeros(1), next_obs=obs, **flags))


def test_observations_must_be_numbered_states_and_returns_discounted():
    with pytest.raises(TypeError, match="Discrete from 0, got Box"):
        PSRL(EnvSpec(spaces.Box(0, 1, (5,)), 2, 0.9, 10), [0], TabularConfig(), CPU)
    with pytest.raises(TypeError, match="Discrete from 0, got Discrete"):
        PSRL(EnvSpec(spaces.Discrete(5, start=1), 2, 0.9, 10), [0], TabularConfig(), CPU)
    with pytest.raises(ValueError, match="discount below 1, got 1"):
        PSRL(EnvSpec(spaces.Discrete(5), 2, 1.0, 10), [0], TabularConfig(), CPU)


def test_the_defaults_are_the_papers():
    config = TabularConfig()
    assert (config.prior_counts, config.replan_every) == (1.0, 5)
    assert (config.prior_mu0, config.prior_lam, config.prior_alpha, config.prior_beta) == (
        0,
        4,
        3,
        3,
    )


PINNED = {
    PSRL: [62.0, 77.8],
    CertaintyEquivalence: [43.4, 44.8],
    UBE: [64.4, 49.6],
    MomentMatching: [106.0, 51.8],
    QLearning: [60.8, 53.0],
    BayesianQLearning: [74.8, 70.0],
}


@every_agent
def test_a_short_run_ends_with_the_numbers_that_it_always_had(kind):
    """Whoever changes these numbers has changed the algorithm, or its random streams."""
    agent = make(kind)
    env = worlds((0, 1))
    run = Run(agent, env, env.reset(), []).go(300)
    assert run.rewards().sum(0).tolist() == pytest.approx(PINNED[kind])
