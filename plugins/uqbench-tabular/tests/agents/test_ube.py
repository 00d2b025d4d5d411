"""UBE: its local uncertainty in closed form, and its solution as a bound."""

from __future__ import annotations

import pytest
import torch
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.ube import UBE, local_uncertainty

GAMMA = 0.9


@pytest.mark.parametrize(("states", "expected"), [(4, 60.0), (8, 700 / 9), (12, 1100 / 13)])
def test_the_priors_local_uncertainty_is_known(states, expected, make):
    """``Q²_max (S − 1) / (S + 1)`` with ``Q_max = 10``, and 3/8 of the rewards' means."""
    agent = make(UBE, states=states)
    local = local_uncertainty(agent.posterior, q_max=10.0, discount=1.0)
    assert local.shape == (2, states, 2)
    assert torch.allclose(local, torch.tensor(expected + 0.375, dtype=torch.float64))
    discounted = local_uncertainty(agent.posterior, q_max=10.0, discount=GAMMA)
    assert torch.allclose(discounted, torch.tensor(0.81 * expected + 0.375).double(), rtol=1e-6)


def test_the_priors_uncertainty_solves_to_a_geometric_sum(make):
    """The same local term everywhere: ``u = ν / (1 − γ²)``."""
    ube = make(UBE, states=4)
    u = ube.variance(ube.action_values())
    assert torch.allclose(u, torch.tensor(60.375 / (1 - 0.81)).double())


def test_the_config_decides_whether_the_bound_is_discounted(make):
    with_it, without = (make(UBE, states=4, discount_bound=flag) for flag in (True, False))
    ratio = (60 * 0.81 + 0.375) / 60.375
    u, v = (agent.variance(agent.action_values()) for agent in (with_it, without))
    assert torch.allclose(u, ratio * v)


@pytest.mark.parametrize("steps", [0, 20, 200])
def test_the_ube_bounds_moment_matching(steps, taught):
    """``Q_max`` bounds the values; the same equation has a larger local term."""
    u = taught(UBE, steps=steps, r_max=3.0)
    mm = taught(MomentMatching, steps=steps)
    values = u.action_values()
    assert values.abs().max() < 30
    assert (u.variance(values) >= mm.variance(values)).all()
