"""Simulation-based calibration: over MDPs drawn from its prior an exact posterior is calibrated."""

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.config import ModelBasedConfig
from uqbench_tabular.agents.psrl import PSRL
from uqbench_tabular.environments.config import DrawnMDPConfig
from uqbench_tabular.environments.ground_truth import drawn_optimal_truth
from uqbench_tabular.environments.prior_mdp import drawn, make_drawn_lanes

from uqbench.agent import EnvironmentInfo, Uncertainty
from uqbench.testing.worlds import act, as_step
from uqbench.uncertainty.query_scores import contraction
from uqbench.uncertainty.query_sources import Visits

CPU = torch.device("cpu")
WORLDS = range(400)
BINS = 8
REJECTED = 31.8
"""χ² with 7 degrees of freedom is above it with probability 4.4e-5."""


def train(config: DrawnMDPConfig, discount: float) -> tuple[PSRL, Visits]:
    """An agent after 60 steps in 400 worlds, and where it was."""
    env = make_drawn_lanes(config, WORLDS, None, CPU)
    info = EnvironmentInfo(spaces.Discrete(config.states), 2, discount, 60)
    agent = PSRL(info, WORLDS, ModelBasedConfig(value_samples=39), CPU)
    visits = Visits(torch.arange(config.states), len(WORLDS))
    obs, valid = env.reset()
    for t in range(60):
        action = act(agent, obs, valid)
        out = env.step(action)
        agent.observe(as_step(obs, action, out))
        obs = out.obs
        visits.see(t + 1, env, obs[:, None])
    return agent, visits


@pytest.fixture(scope="module")
def learned() -> tuple[PSRL, torch.Tensor]:
    """An agent after 60 steps in 400 worlds, and their Q*."""
    config = DrawnMDPConfig(states=3)
    truth = drawn_optimal_truth(config, 0.9, WORLDS)
    return train(config, 0.9)[0], truth.evaluate(torch.zeros(400, 3)).q


def chi_square(samples: torch.Tensor, truth: torch.Tensor) -> float:
    """Of the ranks of truths ``[400]`` among 39 samples ``[400, 39]``: 40 ranks in 8 bins."""
    rank = (samples < truth[:, None]).sum(-1)
    count = (rank // 5).bincount(minlength=BINS)
    expected = len(rank) / BINS
    return float(((count - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("pair", [(0, 0), (1, 1), (2, 0)])
def test_the_ranks_of_the_truth_among_the_exact_posteriors_samples_are_uniform(learned, pair):
    """A right posterior fails one of these tests with probability 1.3e-4."""
    agent, q = learned
    samples = agent.value_samples()[:, :, pair[0], pair[1]]
    truth = q[:, pair[0], pair[1]]
    assert chi_square(samples, truth) < REJECTED
    center = samples.mean(1, keepdim=True)
    for factor in (0.6, 1.7):  # too sure, and not sure enough
        assert chi_square(center + factor * (samples - center), truth) > REJECTED
    assert chi_square(samples + 0.5 * samples.std(1, keepdim=True), truth) > REJECTED


def test_a_posterior_contracts_with_visits_where_only_the_next_reward_counts():
    """With γ = 0; with γ = .9 all states share what is not known of where they lead.

    The mean over 400 worlds is above 0 by more than five standard errors in the one case, and
    smaller in the other by as much; rewards are not equally noisy everywhere, so it is not 1.
    """
    config = DrawnMDPConfig(states=4)
    means, errors = [], []
    for discount in (0.0, 0.9):
        agent, visits = train(config, discount)
        stated = Uncertainty(value_samples=agent.value_samples().movedim(1, -1))
        known = torch.ones(len(WORLDS), 4, 2, dtype=torch.bool)
        found = torch.tensor(contraction(stated, known, visits.counts))
        found = found[~found.isnan()]
        means.append(float(found.mean()))
        errors.append(float(found.std() / len(found) ** 0.5))
    assert means[0] > 5 * errors[0]
    assert means[0] - means[1] > 5 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5


def test_every_seed_has_a_world_of_its_own_whatever_the_others_are():
    config = DrawnMDPConfig()
    three, one = drawn(config, [5, 6, 7]), drawn(config, [6])
    assert torch.equal(three.mdp.transitions[1], one.mdp.transitions[0])
    assert torch.equal(three.deviations[1], one.deviations[0])
    assert not torch.equal(three.mdp.transitions[0], three.mdp.transitions[1])


def test_the_suites_bound_of_rewards_holds_in_most_worlds():
    """R_max = 2.2: the largest mean reward of 1,000 MDPs is below it in 95 %, to 2 %."""
    largest = drawn(DrawnMDPConfig(), range(1_000)).mdp.rewards.flatten(1).amax(1)
    assert (largest < 2.2).double().mean().item() == pytest.approx(0.95, abs=0.02)
