"""Simulation-based calibration: over MDPs drawn from its prior an exact posterior is calibrated."""

from collections import deque

import pytest
import torch
from gymnasium import spaces
from uqbench_tabular.agents.config import ModelBasedConfig
from uqbench_tabular.agents.psrl import PSRL
from uqbench_tabular.environments.config import DrawnMDPConfig
from uqbench_tabular.environments.ground_truth import drawn_optimal_truth
from uqbench_tabular.environments.prior_mdp import drawn, make_drawn_lanes

from uqbench.agent import EnvironmentInfo
from uqbench.testing.same_bits import train

CPU = torch.device("cpu")
WORLDS = range(400)
BINS = 8
REJECTED = 31.8
"""χ² with 7 degrees of freedom is above it with probability 4.4e-5."""


@pytest.fixture(scope="module")
def learned() -> tuple[PSRL, torch.Tensor]:
    """An agent after 60 steps in 400 worlds, and their Q*."""
    config = DrawnMDPConfig(states=3)
    info, env = (
        EnvironmentInfo(spaces.Discrete(3), 2, 0.9, 60),
        make_drawn_lanes(config, WORLDS, None, CPU),
    )
    agent = PSRL(info, WORLDS, ModelBasedConfig(value_samples=39), CPU)
    deque(train(agent, env, 60), maxlen=0)
    return agent, drawn_optimal_truth(config, 0.9, WORLDS).evaluate(torch.zeros(400, 3)).q


def chi_square(samples: torch.Tensor, truth: torch.Tensor) -> float:
    """Of the ranks of truths ``[400]`` among 39 samples ``[400, 39]``: 40 ranks in 8 bins."""
    rank = (samples < truth[:, None]).sum(-1)
    count, expected = (rank // 5).bincount(minlength=BINS), len(rank) / BINS
    return float(((count - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("pair", [(0, 0), (1, 1), (2, 0)])
def test_the_ranks_of_the_truth_among_the_exact_posteriors_samples_are_uniform(learned, pair):
    """A right posterior fails one of these tests with probability 1.3e-4."""
    agent, q = learned
    samples, truth = agent.value_samples()[:, :, pair[0], pair[1]], q[:, pair[0], pair[1]]
    assert chi_square(samples, truth) < REJECTED
    center = samples.mean(1, keepdim=True)
    for factor in (0.6, 1.7):  # too sure, and not sure enough
        assert chi_square(center + factor * (samples - center), truth) > REJECTED
    assert chi_square(samples + 0.5 * samples.std(1, keepdim=True), truth) > REJECTED


def test_the_suites_bound_of_rewards_holds_in_most_worlds():
    """R_max = 2.2: the largest mean reward of 1,000 MDPs is below it in 95 %, to 2 %."""
    largest = drawn(DrawnMDPConfig(), range(1_000)).mdp.rewards.flatten(1).amax(1)
    assert (largest < 2.2).double().mean().item() == pytest.approx(0.95, abs=0.02)
