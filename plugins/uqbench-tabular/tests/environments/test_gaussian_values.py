"""Worlds with a posterior in closed form: what is shown, and what an exact Bayesian makes of it."""

from collections import deque
from dataclasses import replace

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents import gaussian_controls as controls
from uqbench_tabular.agents.config import GaussianDrawsConfig
from uqbench_tabular.agents.gaussian_posterior import GaussianDraws, GaussianPosterior
from uqbench_tabular.environments import gaussian_values as circuit
from uqbench_tabular.environments.config import GaussianValuesConfig
from uqbench_tabular.environments.posterior_scores import LEFT, score_posterior

from uqbench.agent import EnvironmentInfo, Uncertainty
from uqbench.registry import Host
from uqbench.suites import read_suites
from uqbench.testing.same_bits import train

CPU = torch.device("cpu")
WORLDS = range(2_000)
CONFIG = GaussianValuesConfig(sigma=2.0, fours=1)


def learned(
    config: GaussianValuesConfig, discount: float, seeds: range, kind=GaussianPosterior
) -> GaussianPosterior:
    """The exact posterior after all data and as many steps of rest."""
    env = circuit.GaussianValues(config, seeds, None, CPU)
    info = EnvironmentInfo(
        spaces.Box(0, 1, (circuit.STATES,)), circuit.ACTIONS, discount, 16 * config.n
    )
    agent = kind(info, seeds, config, CPU)
    deque(train(agent, env, 16 * config.n), maxlen=0)
    return agent


def test_every_pair_is_shown_as_often_and_followed_by_the_next_then_nothing_is():
    env = circuit.GaussianValues(CONFIG, range(3), None, CPU)
    obs, valid = env.reset()
    for t in range(2 * CONFIG.n * circuit.PAIRS):
        if t < CONFIG.n * circuit.PAIRS:
            state, action = circuit.CIRCUIT[t % circuit.PAIRS]
            assert (obs.argmax(-1) == state).all()
            assert valid.tolist() == 3 * [[a == action for a in range(circuit.ACTIONS)]]
        out = env.step(valid.to(torch.uint8).argmax(-1))
        if t >= CONFIG.n * circuit.PAIRS:
            assert out.terminated.all()
            assert torch.cat([obs.flatten(), out.reward]).eq(0).all()
        assert bool(out.truncated.all()) == (t + 1 == CONFIG.n * circuit.PAIRS)
        obs, valid = out.obs, out.valid
    for (state, action), (following, _) in zip(
        circuit.CIRCUIT, circuit.CIRCUIT[1:] + circuit.CIRCUIT[:1], strict=True
    ):
        assert following == (state + action + 1) % circuit.STATES
    assert len(set(circuit.CIRCUIT)) == circuit.PAIRS == circuit.STATES * circuit.ACTIONS


@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_the_agent_that_counts_rewards_has_the_posterior_in_closed_form(discount):
    agent, exact = (of(CONFIG, discount, range(20)) for of in (learned, circuit.posterior))
    stated = agent.uncertainty(torch.eye(circuit.STATES).expand(20, -1, -1))
    assert torch.allclose(stated.mean, exact.mean, atol=1e-5)
    scores = score_posterior(stated, exact)
    for name in ("sd_ratio", "joint_kl_1", "joint_kl_10"):
        assert scores[name].abs().max() < 1e-6
    assert scores["size"] == pytest.approx(torch.ones(20).double(), abs=1e-5)
    tenfold = replace(stated, epistemic_var=100 * stated.epistemic_var)
    assert scores["size@28"] == pytest.approx(score_posterior(tenfold, exact)["size"], abs=1e-6)
    far = score_posterior(replace(stated, epistemic_var=9 * stated.epistemic_var), exact)
    assert far["sd_ratio"] == pytest.approx(torch.full((20,), 3.0).double().log10())
    assert (far["joint_kl_10"] > far["joint_kl_1"]).all()
    third = (LEFT - torch.tensor(3.0).log()) / (LEFT + torch.tensor(3.0).log())
    assert far["size"] == pytest.approx(third.double().expand(20), abs=1e-5)
    certain = score_posterior(Uncertainty(mean=stated.mean), exact)
    assert (certain["size"] < -0.8).all()
    assert "sd_ratio" not in certain
    swapped = stated.epistemic_var * torch.tensor([9.0, 1 / 9])  # errors do not cancel
    found = score_posterior(replace(stated, epistemic_var=swapped), exact)
    assert found["size"] == pytest.approx(third.double().expand(20), abs=1e-5)


@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_over_worlds_drawn_from_the_prior_the_posterior_covers_and_has_its_variance(discount):
    """The error of 16,000 values, eight a world: a standard error below 1.6 %."""
    exact = circuit.posterior(CONFIG, discount, WORLDS)
    q = circuit.exact_truth(CONFIG, discount, WORLDS).evaluate(torch.zeros(1)).q
    error = (q - exact.mean).flatten(1)
    apart = error.mT.cov(correction=0) - exact.covariance
    assert apart.abs().max() < 0.15 * exact.covariance.max()
    inside = error.abs() <= 1.6448536 * exact.covariance.diagonal().sqrt()
    assert inside.double().mean().item() == pytest.approx(0.9, abs=0.02)
    root = (exact.mean - exact.fitted).square().mean()
    assert root > 0.01  # what fits the data is not the posterior's mean


@pytest.mark.parametrize("discount", [0.0, 0.9])
def test_the_controls_state_one_doubt_of_all_rewards(discount):
    """v GGᵀ, v of the prior 1, of the rules about what fits all data of σ, of n, or of neither."""
    config = GaussianValuesConfig(sigma=2.0, fours=4)
    exact, rows = circuit.posterior(config, discount, range(3)), circuit.values_of_rewards(discount)
    prior, fitted = (rows @ rows.mT)[circuit.PLACE][:, circuit.PLACE], exact.fitted.flatten(1)
    for kind, mean, std in (
        (controls.GaussianPrior, torch.zeros(3, circuit.PAIRS), 1.0),
        (controls.OneDoubt, fitted, 0.242),
        (controls.NoiseAlone, fitted, 0.125 * 2),
        (controls.DataAlone, fitted, 0.5 / 4),
        (controls.NoiseOverData, fitted, 2 / 4),
    ):
        states = torch.eye(circuit.STATES).expand(3, -1, -1)
        said = learned(config, discount, range(3), kind).uncertainty(states)
        assert torch.allclose(said.mean.flatten(1), mean.double(), atol=1e-5)
        for lane in said.value_samples.flatten(1, 2):
            assert torch.allclose(lane.cov(), std**2 * prior, atol=1e-8)
        stated = said.epistemic_var.flatten(1)
        assert torch.allclose(stated, std**2 * prior.diagonal().expand(3, -1), atol=1e-8)


def test_draws_from_the_posterior_have_its_moments_and_scatter_as_chi_square():
    """Of K draws: E s² = σ², Var s²/σ² = 2/(K − 1), each within four standard errors.

    A world's values go together: these are .007, .003, .011 and .02.
    """
    exact = circuit.posterior(CONFIG, 0.9, WORLDS)
    std = exact.covariance.diagonal().sqrt()
    states = torch.eye(circuit.STATES).expand(len(WORLDS), -1, -1)
    config = GaussianDrawsConfig(sigma=2.0, fours=1, draws=10)
    said = learned(config, 0.9, WORLDS, GaussianDraws).uncertainty(states)
    off = (said.mean - exact.mean).flatten(1) / std
    assert off.mean().item() == pytest.approx(0, abs=0.03)
    assert off.var().item() == pytest.approx(1 / 10, abs=0.013)
    share = said.epistemic_var.flatten(1) / std.square()
    assert share.mean().item() == pytest.approx(1, abs=0.044)
    assert share.var().item() == pytest.approx(2 / 9, abs=0.08)
    assert (said.epistemic_dof == 9).all()


def test_values_are_the_circuit_s_discounted_rewards():
    powers = 0.9 ** torch.arange(400).double()
    expected = torch.stack([powers[place :: circuit.PAIRS].sum() for place in range(circuit.PAIRS)])
    assert torch.allclose(circuit.values_of_rewards(0.9)[0], expected)
    assert torch.equal(circuit.values_of_rewards(0.0), torch.eye(circuit.PAIRS).double())


def test_a_size_of_zero_is_what_the_best_empty_rule_leaves_of_the_board_s_tasks():
    """Rules are ``c``, ``c σ`` and ``c/√n``, of the best c; steps are as many as data."""
    suite = read_suites(Host.load(), check=("noise-and-ignorance",)).suite("noise-and-ignorance")
    for budget in (suite.budgets["paper"], suite.budgets["separating"]):
        tasks = suite.tasks_of(budget)
        configs = [GaussianValuesConfig(**task.config) for task in tasks]
        for task, config in zip(tasks, configs, strict=True):
            assert budget.task_steps[task.name] == config.n * circuit.PAIRS + 256
    one = circuit.values_of_rewards(0.9)[0].norm()
    exact = torch.stack([
        circuit.posterior(config, task.discount, [0]).covariance[0, 0].sqrt() / one
        for config, task in zip(configs, tasks, strict=True)])  # fmt: skip
    by_noise, by_data = [config.sigma for config in configs], [c.n**-0.5 for c in configs]
    rules = torch.tensor([[1.0] * len(configs), by_noise, by_data]).double()
    left = (exact / rules).log().std(1, correction=0).tolist()
    assert left[0] == pytest.approx(0.861, abs=1e-3)
    assert min(left) == pytest.approx(LEFT, abs=1e-3)
