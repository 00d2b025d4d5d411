"""Worlds with a posterior in closed form: what is shown, and what an exact Bayesian makes of it."""

from __future__ import annotations

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.gaussian_controls import GaussianPrior, OneDoubt
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
    reference_of,
    values_of_rewards,
)
from uqbench_tabular.environments.posterior_scores import score_posterior

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.registry import Host
from uqbench.suites import read_suites
from uqbench.testing.worlds import step_of_actors

CPU = torch.device("cpu")
WORLDS = range(2_000)
ZEROS = {
    "g0-s2-n4": 0.454836, "g9-s05-n4": 4.757756, "g9-s05-n16": 2.859739, "g9-s05-n64": 0.441109,
    "g9-s2-n4": 0.627297, "g9-s2-n16": 1.248684, "g9-s2-n64": 0.462392,
}  # fmt: skip
"""Nats, by task."""
CONFIG = GaussianValuesConfig(sigma=2.0, fours=1)


def learned(
    config: GaussianValuesConfig, discount: float, seeds: range, kind=GaussianPosterior
) -> GaussianPosterior:
    """The exact posterior after all data and as many steps of rest."""
    env = GaussianValues(config, seeds, None, CPU)
    info = EnvironmentInfo(spaces.Box(0, 1, (STATES,)), ACTIONS, discount, 16 * config.n)
    agent = kind(info, seeds, config, CPU)
    obs, valid = env.reset()
    for _ in range(16 * config.n):
        action = agent.act(obs[:, None], valid[:, None])[:, 0]
        out = env.step(action)
        agent.observe(
            step_of_actors(obs, action, out.reward, out.terminated, out.truncated, out.next_obs)
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
    assert scores["skill"] == pytest.approx(torch.ones(20).double(), abs=1e-5)
    far = score_posterior(
        Uncertainty(mean=stated.mean, epistemic_var=9 * stated.epistemic_var), exact
    )
    assert far["sd_ratio"] == pytest.approx(torch.full((20,), 3.0).double().log10())
    assert (far["joint_kl_10"] > far["joint_kl_1"]).all()
    wrong = Uncertainty(mean=stated.mean + 1e4, epistemic_var=stated.epistemic_var)
    assert -1 < score_posterior(wrong, exact)["skill"].min() < -0.99


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


@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_the_controls_know_nothing_of_a_pair_alone(discount):
    """The prior has GGᵀ; one doubt .2²(I + 11ᵀ/(1 − γ)²) about .8 of what fits all data."""
    exact, of_values = posterior(CONFIG, discount, range(3)), values_of_rewards(discount)
    prior = (of_values @ of_values.mT)[PLACE][:, PLACE]
    common = torch.ones(PAIRS, PAIRS).double() / (1 - discount) ** 2
    doubt = 0.04 * (torch.eye(PAIRS).double() + common)
    for kind, mean, covariance in (
        (GaussianPrior, torch.zeros(3, PAIRS), prior),
        (OneDoubt, 0.8 * exact.fitted.flatten(1), doubt),
    ):
        states = torch.eye(STATES).expand(3, -1, -1)
        said = learned(CONFIG, discount, range(3), kind).uncertainty(states)
        assert torch.allclose(said.mean.flatten(1), mean.double(), atol=1e-5)
        samples = said.value_samples.flatten(1, 2)
        for lane in samples:
            assert torch.allclose(lane.cov(), covariance, atol=1e-8)
        stated = said.epistemic_var.flatten(1)
        assert torch.allclose(stated, covariance.diagonal().expand(3, -1), atol=1e-8)


def test_values_are_the_circuit_s_discounted_rewards():
    powers = 0.9 ** torch.arange(400).double()
    expected = torch.stack([powers[place::PAIRS].sum() for place in range(PAIRS)])
    assert torch.allclose(values_of_rewards(0.9)[0], expected)
    assert torch.equal(values_of_rewards(0.0), torch.eye(PAIRS).double())


def test_a_score_of_zero_is_the_better_of_the_prior_and_of_certainty(monkeypatch):
    """Expectations over worlds, whose means are normal; scores of 200 have a 5 % error."""
    monkeypatch.setenv("UQBENCH_PLUGINS", "tabular,ube,dqn")
    suite = read_suites(Host.load(), check=("noise-and-ignorance",)).suite("noise-and-ignorance")
    drawn = torch.randint(PAIRS, (100, 10), generator=torch.Generator().manual_seed(10))
    for task in suite.tasks:
        config = GaussianValuesConfig(**task.config)
        for budget in (suite.budgets["separating"], suite.budgets["paper"]):
            if task in suite.tasks_of(budget):
                assert budget.task_steps[task.name] == config.n * PAIRS + 256
        weight = config.n / (config.n + config.sigma**2)
        of_values = values_of_rewards(task.discount)
        prior = (of_values @ of_values.mT)[PLACE][:, PLACE]
        noise = config.sigma**2 * torch.eye(10).double()

        def block(of):
            return of[drawn[:, :, None], drawn[:, None]]

        exact = block((1 - weight) * prior) + noise
        told = []
        for own, apart in (
            (block(prior) + noise, weight * prior),
            (noise.expand(100, 10, 10), (1 - weight) ** 2 / weight * prior),
        ):
            traces = torch.linalg.solve(own, exact + block(apart)).diagonal(dim1=1, dim2=2).sum(1)
            told.append((traces - 10 + torch.logdet(own) - torch.logdet(exact)).mean().item() / 2)
        assert reference_of(config, task.discount) == pytest.approx(min(told), rel=1e-9)
        assert min(told) == pytest.approx(ZEROS[task.name], abs=1e-5)
        if config.n == 16:
            world = posterior(config, task.discount, range(200))
            scored = score_posterior(Uncertainty(mean=world.fitted), world)["joint_kl_10"]
            assert scored.mean().item() == pytest.approx(told[1], rel=0.2)
