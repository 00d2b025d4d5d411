"""UBE: its local uncertainty in closed form, and its solution as a bound."""

import pytest
import torch
from uqbench_tabular.agents.moment_matching import MomentMatching
from uqbench_tabular.agents.ube import UBE, UBETerms, local_uncertainty

from uqbench.lanes import greedy

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


@pytest.mark.parametrize("steps", [0, 20, 200, 2_000])
def test_the_local_uncertainty_is_that_of_transitions_not_of_rewards(steps, taught):
    """The term of Q_max is 98 % of it and more, however much was seen."""
    posterior = taught(UBE, steps=steps).posterior
    rewards, both = (local_uncertainty(posterior, q_max, 1.0) for q_max in (0.0, 10.0))
    assert (rewards < 0.02 * both).all()


def test_the_terms_that_are_reported_are_those_of_what_is_available(taught):
    agent = taught(UBETerms, steps=200)
    reward, both = (local_uncertainty(agent.posterior, q_max, 1.0) for q_max in (0.0, 10.0))
    terms = {"reward_term": reward, "q_max_term": both - reward, "reward_share": reward / both}
    seen = agent.available
    for lane in range(2):  # what would be the largest, and the smallest, is not available
        ends = torch.stack([reward[lane].argmax(), (both - reward)[lane].argmin()])
        seen[lane].view(-1)[ends] = False
    said = agent.metrics()
    for name, term in terms.items():
        for lane in range(2):
            own = term[lane][seen[lane]]
            assert said[f"{name}_low"][lane].item() == pytest.approx(own.min().item())
            assert said[f"{name}_high"][lane].item() == pytest.approx(own.max().item())
    assert "pairs_tried" in said


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
def test_the_solution_bounds_the_variance_of_the_policys_values_everywhere(steps, taught):
    """At every (s, a), about Q^π of the policy in the equation; a thousandth of it does nowhere.

    A variance of 1,000 samples has a standard error of 4.5 %.
    """
    agent = taught(UBE, steps=steps, r_max=3.0, zeta=1.0, value_samples=1_000)
    stated = agent.uncertainty(torch.arange(4).expand(2, -1))
    assert (stated.epistemic_var > 1.2 * stated.oracle_var).all()
    assert not (0.001 * stated.epistemic_var > stated.oracle_var).any()


def test_the_oracle_variance_is_that_of_the_policys_values(taught):
    """Against the Bellman equation of the policy, iterated in every sampled MDP."""
    agent = taught(UBE, value_samples=8)
    mdps, _ = agent._samples()
    policy = greedy(agent.action_values(), agent.available)
    q = torch.zeros(2, 8, 4, 2).double()
    for _ in range(400):
        v = q.gather(-1, policy[:, None, :, None].expand(-1, 8, -1, -1)).squeeze(-1)
        following = (mdps.transitions * v[:, :, None, None]).sum(-1)
        q = mdps.expected_rewards() + GAMMA * following
    assert torch.allclose(agent.policy_variance(policy), q.var(1))


@pytest.mark.parametrize("steps", [0, 20, 200])
def test_the_ube_bounds_moment_matching(steps, taught):
    """``Q_max`` bounds the values; the same equation has a larger local term."""
    u, mm = taught(UBE, steps=steps, r_max=3.0), taught(MomentMatching, steps=steps)
    values = u.action_values()
    assert values.abs().max() < 30
    assert (u.variance(values) >= mm.variance(values)).all()
