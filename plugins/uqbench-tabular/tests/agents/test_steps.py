"""Agents one by one: their plans, their equations and their updates by hand."""

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.certainty_equivalence import CertaintyEquivalence
from uqbench_tabular.agents.config import ModelBasedConfig
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.oracle import Oracle
from uqbench_tabular.agents.psrl import PSRL
from uqbench_tabular.agents.q_learning import QLearning
from uqbench_tabular.environments.chain import BACK, FORWARD
from uqbench_tabular.environments.config import DeepSeaConfig
from uqbench_tabular.environments.deep_sea import RIGHT, make_lanes
from uqbench_tabular.planning import policy_iteration

from uqbench.agent import EnvironmentInfo
from uqbench.lanes import generators
from uqbench.testing.worlds import act, step_of_actors
from uqbench.uncertainty.interval_scores import score_uncertainty

# -- with a posterior over MDPs ------------------------------------------------------------------


def test_the_plan_respects_the_masks_that_have_been_seen(make):
    """An untried action looks attractive to its prior; planning must not count on it."""
    agent = make(seeds=(0,), prior_mu0=5.0)
    assert torch.allclose(agent.action_values(), torch.tensor(50.0, dtype=torch.float64))
    for _ in range(200):
        act(agent, torch.tensor([4]), torch.tensor([[False, True]]))
        no = torch.tensor([False])
        state, action, reward = torch.tensor([4]), torch.tensor([1]), torch.tensor([0.0])
        agent.observe(step_of_actors(state, action, reward, no, no, state))
    value = agent.action_values()[0, 4]
    assert value[FORWARD] < 0.5 * value[BACK]
    assert agent.policy(torch.tensor([[4]])).tolist() == [[FORWARD]]
    assert agent.plan[0, 4, FORWARD] < 0.5 * agent.plan[0, 4, BACK]


def test_uncertainty_is_samples_of_q_with_their_mean_and_variance(start):
    agent = start(value_samples=16).go(60).agent
    obs = torch.tensor([[3, 0, 4], [1, 1, 2]])
    stated = agent.uncertainty(obs)
    assert stated.value_samples.shape == (2, 3, 2, 16)
    table = agent.value_samples()
    for lane in range(2):
        assert torch.equal(stated.value_samples[lane], table[lane][:, obs[lane]].movedim(0, -1))
    assert torch.allclose(stated.mean, stated.value_samples.mean(-1))
    assert torch.allclose(stated.epistemic_var, stated.value_samples.var(-1))
    spread = table[0].std(0)[agent.available[0]].mean()
    assert torch.allclose(agent.metrics()["value_std"][0], spread)
    samples = stated.value_samples[0]
    assert not torch.equal(samples[..., 0], samples[..., 1])
    agent.t += 1  # other numbers at another step
    assert not torch.equal(agent.uncertainty(obs).value_samples, stated.value_samples)


def test_metrics_count_the_pairs_tried(start):
    run = start()
    assert run.agent.metrics()["pairs_tried"].tolist() == [0, 0]
    run.go(30)
    state, action, _ = torch.stack(run.trace).long().unbind(1)
    tried = [len((2 * s + a).unique()) for s, a in zip(state.T, action.T, strict=True)]
    assert run.agent.metrics()["pairs_tried"].tolist() == tried


# -- PSRL ----------------------------------------------------------------------------------------


def test_the_plan_is_the_optimum_of_one_posterior_draw_and_lasts(start):
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


# -- certainty equivalence -----------------------------------------------------------------------


def test_certainty_equivalence_explores_with_probability_epsilon(start):
    """ε = 1 is the uniformly random policy; ε = 0 is that of the plan."""
    greedy = start(CertaintyEquivalence, epsilon=0.0).go(50).agent
    assert torch.equal(act(greedy, torch.tensor([0, 2])), greedy.plan[[0, 1], [0, 2]].argmax(-1))
    run = start(CertaintyEquivalence, seeds=range(20), epsilon=1.0).go(200)
    state, action, _ = torch.stack(run.trace).unbind(1)
    assert abs(action[state != 4].mean().item() - 0.5) < 5 * 0.5 / (state != 4).sum().item() ** 0.5


# -- moment matching -----------------------------------------------------------------------------


GAMMA = 0.9


def test_moment_matching_solves_the_epistemic_equation_term_by_term(taught):
    """Equation "epistemic" with its five terms apart, each from its definition."""
    agent = taught(MomentMatching)
    values = agent.action_values()
    v, c = values.amax(-1), agent.posterior.counts
    n = c.sum(-1)
    p, ng = c / n[..., None], agent.posterior.rewards
    m = ng.mu0

    def cov(x, y):
        """``Cov_T[Σ p x, Σ p y]``."""
        return ((p * x * y).sum(-1) - (p * x).sum(-1) * (p * y).sum(-1)) / (n + 1)

    w = v[:, None, None, :].expand_as(p)
    var_mean_reward = ng.beta / (ng.lam * (ng.alpha - 1))
    fixed = cov(m, m) + (p * var_mean_reward).sum(-1) + 2 * GAMMA * cov(m, w) + GAMMA**2 * cov(w, w)
    best, epistemic = values.argmax(-1, keepdim=True), torch.zeros_like(fixed)
    for _ in range(400):
        of_states = epistemic.gather(-1, best).squeeze(-1)
        epistemic = fixed + GAMMA**2 * (p * of_states[:, None, None, :]).sum(-1)
    assert torch.allclose(agent.variance(values), epistemic)
    of_states = epistemic.gather(-1, best).squeeze(-1)
    draft, code = (taught(MomentMatching, noise=noise) for noise in ("draft", "code"))
    expected = (p * of_states[:, None, None, :]).sum(-1)
    assert torch.allclose(draft.variance(values), expected)
    assert torch.allclose(code.variance(values), epistemic / GAMMA**2)


# -- Q-learning ----------------------------------------------------------------------------------


def test_q_learning_makes_the_known_step(make):
    """``0.5 + 0.1 (1 + 0.9 · 2 − 0.5)``; a masked action of the next state does not count."""
    for valid, best in ((None, 7.0), (torch.tensor([[True, False]]), 2.0)):
        agent = make(QLearning, seeds=(0,), states=2)
        agent.values = torch.tensor([[[0.5, 0.0], [2.0, 7.0]]], dtype=torch.float64)
        zero, no = torch.zeros(1, dtype=torch.int64), torch.tensor([False])
        agent.observe(step_of_actors(zero, zero, torch.ones(1), no, no, zero + 1, valid))
        expected = 0.5 + 0.1 * (1 + GAMMA * best - 0.5)
        assert agent.values[0].tolist() == [[pytest.approx(expected), 0.0], [2.0, 7.0]]


# -- the tasks that they accept ------------------------------------------------------------------


CPU = torch.device("cpu")


def test_observations_must_be_numbered_states_and_returns_discounted():
    for space, discount, said in (
        (spaces.Box(0, 1, (5,)), 0.9, "Discrete from 0, got Box"),
        (spaces.Discrete(5, start=1), 0.9, "Discrete from 0, got Discrete"),
        (spaces.Discrete(5), 1.0, "discount below 1, got 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            PSRL(EnvironmentInfo(space, 2, discount, 10), [0], ModelBasedConfig(), CPU)


# -- the exact policy ----------------------------------------------------------------------------


CONFIG = DeepSeaConfig(states=4)


def test_it_has_no_regret_and_its_intervals_are_points_on_the_truth():
    """Q*(s₁, right) of DeepSea(4) is 0.80907; left costs 0.08091."""
    lanes = make_lanes(CONFIG, [1, 2], None, CPU)
    agent = Oracle(EnvironmentInfo(lanes.observation_space, 2, 0.9, 100), [1, 2], CONFIG, CPU)
    obs, valid = lanes.reset()
    for _ in range(100):
        action = act(agent, obs, valid)
        assert (action == RIGHT).all()
        out = lanes.step(action)
        obs = out.obs
        assert (out.events["regret"] == 0).all()
    stated = agent.uncertainty(torch.arange(4).expand(2, -1))
    assert stated.mean[0, 0].tolist() == pytest.approx([0.80907 - 0.08091, 0.80907], abs=1e-5)
    scores = score_uncertainty(stated, stated.mean[0])
    assert scores["uncertainty/coverage_95"].tolist() == [1, 1]
    assert scores["uncertainty/interval_score_95"].tolist() == [0, 0]


def test_another_environment_is_refused():
    info = EnvironmentInfo(spaces.Discrete(5), 2, 0.9, 100)
    with pytest.raises(ValueError, match=r"with 4 states and 2 actions.*got Discrete\(5\)"):
        Oracle(info, [0], CONFIG, CPU)
