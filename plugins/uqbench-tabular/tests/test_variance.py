"""UBE and moment matching: their local terms and equations, against closed forms and each other."""

from __future__ import annotations

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.config import MomentMatchingConfig, QLearningConfig, UBEConfig
from uqbench_tabular.gaussian_thompson import GaussianThompson
from uqbench_tabular.moment_matching import MomentMatching
from uqbench_tabular.q_learning import QLearning
from uqbench_tabular.ube import UBE, local_uncertainty

from uqbench.agent import EnvSpec, Step
from uqbench.lanes import Normal

CPU = torch.device("cpu")
GAMMA = 0.9
CONFIGS = {UBE: UBEConfig, MomentMatching: MomentMatchingConfig}
both = pytest.mark.parametrize("kind", CONFIGS)


def make(kind: type[GaussianThompson], states: int = 4, lanes: int = 2, **settings):
    spec = EnvSpec(spaces.Discrete(states), 2, GAMMA, 1_000)
    return kind(spec, range(lanes), CONFIGS[kind](**settings), CPU)


def taught(kind, steps: int = 200, **settings):
    """An agent that has seen random transitions of a random MDP; rewards depend on (s, a, s')."""
    agent = make(kind, **settings)
    g = torch.Generator().manual_seed(0)
    rewards = torch.randn(4, 2, 4, generator=g)
    for _ in range(steps):
        s, following = torch.randint(4, (2, 2), generator=g)
        a = torch.randint(2, (2,), generator=g)
        r = rewards[s, a, following] + 0.1 * torch.randn(2, generator=g)
        agent.posterior = agent.posterior.given(s, a, r, following)
    return agent


@pytest.mark.parametrize(("states", "expected"), [(4, 60.0), (8, 700 / 9), (12, 1100 / 13)])
def test_the_priors_local_uncertainty_is_known(states, expected):
    """``Q²_max (S − 1) / (S + 1)`` with ``Q_max = 10``, and 3/8 of the rewards' means."""
    agent = make(UBE, states=states)
    local = local_uncertainty(agent.posterior, q_max=10.0, discount=1.0)
    assert local.shape == (2, states, 2)
    assert torch.allclose(local, torch.tensor(expected + 0.375, dtype=torch.float64))
    discounted = local_uncertainty(agent.posterior, q_max=10.0, discount=GAMMA)
    assert torch.allclose(discounted, torch.tensor(0.81 * expected + 0.375).double(), rtol=1e-6)


def test_the_priors_uncertainty_solves_to_a_geometric_sum():
    """The same local term everywhere: ``u = ν / (1 − γ²)``; MM's prior values are zero."""
    ube = make(UBE)
    u = ube.variance(ube.action_values())
    assert torch.allclose(u, torch.tensor(60.375 / (1 - 0.81)).double())
    mm = make(MomentMatching)
    assert torch.allclose(
        mm.variance(mm.action_values()), torch.tensor(0.375 / (1 - 0.81)).double()
    )


def test_settings_decide_whether_the_bound_is_discounted():
    with_it, without = (make(UBE, discount_bound=flag) for flag in (True, False))
    ratio = (60 * 0.81 + 0.375) / 60.375
    u, v = (agent.variance(agent.action_values()) for agent in (with_it, without))
    assert torch.allclose(u, ratio * v)


def test_moment_matching_solves_the_epistemic_equation_term_by_term():
    """Equation "epistemic" with its five terms apart, each from its definition."""
    agent = taught(MomentMatching)
    values = agent.action_values()
    v = values.amax(-1)
    c = agent.posterior.counts
    n = c.sum(-1)
    p, ng = c / n[..., None], agent.posterior.rewards
    m = ng.mu0

    def cov(x, y):
        """``Cov_T[Σ p x, Σ p y]``."""
        return ((p * x * y).sum(-1) - (p * x).sum(-1) * (p * y).sum(-1)) / (n + 1)

    w = v[:, None, None, :].expand_as(p)
    var_mean_reward = ng.beta / (ng.lam * (ng.alpha - 1))
    fixed = cov(m, m) + (p * var_mean_reward).sum(-1) + 2 * GAMMA * cov(m, w) + GAMMA**2 * cov(w, w)
    best = values.argmax(-1, keepdim=True)
    epistemic = torch.zeros_like(fixed)
    for _ in range(400):
        of_states = epistemic.gather(-1, best).squeeze(-1)
        epistemic = fixed + GAMMA**2 * (p * of_states[:, None, None, :]).sum(-1)
    assert torch.allclose(agent.variance(values), epistemic)
    of_states = epistemic.gather(-1, best).squeeze(-1)
    draft, code = (taught(MomentMatching, noise=noise) for noise in ("draft", "code"))
    expected = (p * of_states[:, None, None, :]).sum(-1)
    assert torch.allclose(draft.variance(values), expected)
    assert torch.allclose(code.variance(values), epistemic / GAMMA**2)


@pytest.mark.parametrize("steps", [0, 20, 200])
def test_the_ube_bounds_moment_matching(steps):
    """``Q_max`` bounds the values; the same equation has a larger local term."""
    u = taught(UBE, steps=steps, r_max=3.0)
    mm = taught(MomentMatching, steps=steps)
    values = u.action_values()
    assert values.abs().max() < 30
    assert (u.variance(values) >= mm.variance(values)).all()


@both
def test_uncertainty_vanishes_with_data(kind):
    """Ten thousand times the counts: a posterior that is all but certain."""
    agent = taught(kind)
    before = agent.variance(agent.action_values())
    rewards, counts = agent.posterior.rewards, agent.posterior.counts
    much = 10_000.0
    agent.posterior = type(agent.posterior)(
        counts * much,
        type(rewards)(rewards.mu0, rewards.lam * much, rewards.alpha * much, rewards.beta * much),
    )
    after = agent.variance(agent.action_values())
    assert (after < 2e-3 * before).all()


def test_without_discount_of_time_only_the_reward_is_uncertain():
    """Deterministic, known dynamics: MM's variance is the propagated variance of mean rewards."""
    agent = make(MomentMatching, states=2, lanes=1)
    c = torch.full((1, 2, 2, 2), 1e-9, dtype=torch.float64)
    c[:, 0, :, 1] = c[:, 1, :, 0] = 1e12  # to and fro
    rewards = agent.posterior.rewards
    agent.posterior = type(agent.posterior)(c, rewards)
    expected = torch.tensor(0.375 / (1 - 0.81), dtype=torch.float64)
    assert torch.allclose(agent.variance(agent.action_values()), expected, rtol=1e-6)


@both
def test_actions_are_the_best_of_values_with_fresh_noise(kind):
    agent = taught(kind, zeta=0.7, replan_every=50)
    noise = Normal((0, 1), f"{kind.stream}/noise", (2,), CPU)
    obs = torch.tensor([1, 3])
    taken = agent.act(obs)
    values = agent.action_values()
    deviation = 0.7 * agent.variance(values).sqrt()
    lanes = torch.arange(2)
    for t in range(30):
        sampled = values[lanes, obs] + noise.at(t) * deviation[lanes, obs]
        assert torch.equal(taken, sampled.argmax(-1))
        agent.t = t + 1
        taken = agent.act(obs)


@both
def test_the_law_that_is_acted_by_is_stated_beside_the_posteriors_variance(kind):
    agent = taught(kind, zeta=0.5, value_samples=16)
    obs = torch.tensor([[2, 0], [1, 1]])
    stated = agent.uncertainty(obs)
    values = agent.action_values()
    variance = 0.25 * agent.variance(values)
    reference = agent.value_samples().var(1)
    for lane in range(2):
        assert torch.equal(stated.mean[lane], values[lane, obs[lane]])
        assert torch.equal(stated.epistemic_var[lane], variance[lane, obs[lane]])
        assert torch.equal(stated.reference_var[lane], reference[lane, obs[lane]])
    assert stated.value_samples is None


def test_q_learning_makes_the_known_step():
    """``0.5 + 0.1 (1 + 0.9 · 2 − 0.5)``; a masked action of the next state does not count."""
    spec = EnvSpec(spaces.Discrete(2), 2, GAMMA, 10)
    for valid, best in ((None, 7.0), (torch.tensor([[True, False]]), 2.0)):
        agent = QLearning(spec, [0], QLearningConfig(), CPU)
        agent.values = torch.tensor([[[0.5, 0.0], [2.0, 7.0]]], dtype=torch.float64)
        zero, no = torch.zeros(1, dtype=torch.int64), torch.tensor([False])
        agent.observe(Step(0, zero, zero, torch.ones(1), no, no, zero + 1, valid))
        expected = 0.5 + 0.1 * (1 + GAMMA * best - 0.5)
        assert agent.values[0].tolist() == [[pytest.approx(expected), 0.0], [2.0, 7.0]]
