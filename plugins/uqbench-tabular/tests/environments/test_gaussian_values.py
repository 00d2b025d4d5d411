"""Worlds with a posterior in closed form: what is shown, and what an exact Bayesian makes of it."""

from __future__ import annotations

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.gaussian_posterior import GaussianPosterior
from uqbench_tabular.environments.config import GaussianValuesConfig
from uqbench_tabular.environments.gaussian_values import (
    ACTIONS,
    CIRCUIT,
    PAIRS,
    PLACE,
    STATES,
    GaussianValues,
    exact_truth,
    posterior,
    values_of_rewards,
)
from uqbench_tabular.environments.posterior_scores import score_posterior

from uqbench.agent import EnvironmentInfo, Uncertainty
from uqbench.registry.plugins import Host
from uqbench.suites.reading import read_suites
from uqbench.testing.worlds import step_of_actors

CPU = torch.device("cpu")
WORLDS = range(2_000)
CONFIG = GaussianValuesConfig(sigma=2.0, fours=1)


def learned(config: GaussianValuesConfig, discount: float, seeds: range) -> GaussianPosterior:
    """The exact posterior after all data and as many steps of rest."""
    env = GaussianValues(config, seeds, None, CPU)
    info = EnvironmentInfo(spaces.Box(0, 1, (STATES,)), ACTIONS, discount, 16 * config.n)
    agent = GaussianPosterior(info, seeds, config, CPU)
    obs, valid = env.reset()
    for t in range(16 * config.n):
        action = agent.act(obs[:, None], valid[:, None])[:, 0]
        out = env.step(action)
        agent.observe(
            step_of_actors(t, obs, action, out.reward, out.terminated, out.truncated, out.next_obs)
        )
        obs, valid = out.obs, out.valid
    return agent


def test_every_pair_is_shown_as_often_and_followed_by_the_next_then_nothing_is():
    env = GaussianValues(CONFIG, range(3), None, CPU)
    obs, valid = env.reset()
    for t in range(2 * CONFIG.n * PAIRS):
        if t < CONFIG.n * PAIRS:
            state, action = CIRCUIT[t % PAIRS]
            assert (obs.argmax(-1) == state).all()
            assert (valid[:, action]).all()
            assert valid.sum() == 3
        out = env.step(valid.to(torch.uint8).argmax(-1))
        if t >= CONFIG.n * PAIRS:
            assert out.terminated.all()
            assert out.reward.eq(0).all()
            assert obs.eq(0).all()
        assert bool(out.truncated.all()) == (t + 1 == CONFIG.n * PAIRS)
        obs, valid = out.obs, out.valid
    for (state, action), (following, _) in zip(CIRCUIT, CIRCUIT[1:] + CIRCUIT[:1], strict=True):
        assert following == (state + action + 1) % STATES
    assert len(set(CIRCUIT)) == PAIRS == STATES * ACTIONS


@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_the_agent_that_counts_rewards_has_the_posterior_in_closed_form(discount):
    agent, exact = learned(CONFIG, discount, range(20)), posterior(CONFIG, discount, range(20))
    stated = agent.uncertainty(torch.eye(STATES).expand(20, -1, -1))
    assert torch.allclose(stated.mean, exact.mean, atol=1e-5)
    scores = score_posterior(stated, exact)
    for name in ("sd_ratio", "joint_kl_1", "joint_kl_10"):
        assert scores[name].abs().max() < 1e-6
    far = score_posterior(
        Uncertainty(mean=stated.mean, epistemic_var=9 * stated.epistemic_var), exact
    )
    assert far["sd_ratio"] == pytest.approx(torch.full((20,), 3.0).double().log10())
    assert (far["joint_kl_10"] > far["joint_kl_1"]).all()


@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_over_worlds_drawn_from_the_prior_the_posterior_covers_and_has_its_variance(discount):
    """The error of 16,000 values, eight a world: a standard error below 1.6 %."""
    exact = posterior(CONFIG, discount, WORLDS)
    q = exact_truth(CONFIG, discount, WORLDS).evaluate(torch.zeros(1)).q
    error = (q - exact.mean).flatten(1)
    apart = error.mT.cov(correction=0) - exact.covariance
    assert apart.abs().max() < 0.15 * exact.covariance.max()
    inside = error.abs() <= 1.6448536 * exact.covariance.diagonal().sqrt()
    assert inside.double().mean().item() == pytest.approx(0.9, abs=0.02)
    root = (exact.mean - exact.fitted).square().mean()
    assert root > 0.01  # what fits the data is not the posterior's mean


def test_values_are_the_circuit_s_discounted_rewards():
    powers = 0.9 ** torch.arange(400).double()
    expected = torch.stack([powers[place::PAIRS].sum() for place in range(PAIRS)])
    assert torch.allclose(values_of_rewards(0.9)[0], expected)
    assert torch.equal(values_of_rewards(0.0), torch.eye(PAIRS).double())


def test_tasks_differ_in_data_and_noise_and_their_zero_is_the_priors(monkeypatch):
    """Against 200 worlds: a relative standard error below 3 %."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "tabular,ube,dqn")
    suite = read_suites(Host.load()).suite("noise-and-ignorance")
    budget = suite.budgets["paper"]
    zeros = suite.normalization_constants(suite.metric("joint_kl_10"))
    for task in suite.tasks:
        config = GaussianValuesConfig(**task.config)
        assert budget.task_steps[task.name] == 4 * config.n * PAIRS
        if config.n == 16:
            exact = posterior(config, task.discount, range(200))
            prior = values_of_rewards(task.discount)
            covariance = (prior @ prior.mT)[PLACE][:, PLACE]
            root = torch.linalg.cholesky(covariance)
            samples = (7.5**0.5) * torch.cat([root, -root], 1)  # sixteen, with the prior's moments
            stated = Uncertainty(
                mean=torch.zeros_like(exact.mean),
                value_samples=samples.view(STATES, ACTIONS, 16).expand(200, -1, -1, -1),
            )
            found = score_posterior(stated, exact)["joint_kl_10"].mean().item()
            assert found == pytest.approx(zeros[task.name].zero, rel=0.12)
