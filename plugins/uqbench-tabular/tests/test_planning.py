"""Planning in batches of random MDPs with masks."""

import itertools

import pytest
import torch
from torch.nn.functional import one_hot
from uqbench_tabular import planning


def random_mdps(*batch: int, states: int = 4, actions: int = 3, seed: int = 0) -> planning.MDP:
    g = torch.Generator().manual_seed(seed)
    shape = (*batch, states, actions, states)
    transitions = torch.rand(shape, generator=g, dtype=torch.float64) ** 3
    available = torch.rand(shape[:-1], generator=g) < 0.6
    available[..., 0] |= ~available.any(-1)
    rewards = torch.randn(shape, generator=g, dtype=torch.float64)
    return planning.MDP(transitions / transitions.sum(-1, keepdim=True), rewards, available)


def one(mdps: planning.MDP, *index: int) -> planning.MDP:
    """One MDP of a batch, in memory of its own."""
    return planning.MDP(*(table[index].clone() for table in vars(mdps).values()))


def available_policies(mdp: planning.MDP):
    """Every deterministic policy of one MDP, ``[S]``."""
    free = [row.nonzero().flatten().tolist() for row in mdp.available]
    return map(torch.tensor, itertools.product(*free))


@pytest.mark.parametrize("states", [3, 5, 25])
def test_a_policys_values_solve_the_bellman_equation_as_lapack_does(states):
    mdps = random_mdps(6, states=states)
    policy = mdps.available.to(torch.uint8).argmax(-1)
    pick = one_hot(policy, 3).double()[..., None]
    transitions = (mdps.transitions * pick).sum(-2)
    rewards = (mdps.expected_rewards() * pick[..., 0]).sum(-1)
    expected = torch.linalg.solve(torch.eye(states) - 0.99 * transitions, rewards)
    given = planning.evaluate_policy(mdps, policy, 0.99)
    assert torch.allclose(given, expected, rtol=0, atol=1e-10)


def test_values_and_gains_equal_brute_force_over_deterministic_policies():
    mdps = random_mdps(60)
    for i in range(60):
        mdp, best = one(mdps, i), planning.optimal_gain(mdps)[i].item()
        policies = list(available_policies(mdp))
        values = torch.stack([planning.evaluate_policy(mdp, pi, 0.9) for pi in policies]).amax(0)
        expected = planning.action_values(mdp, values, 0.9)
        assert torch.allclose(planning.policy_iteration(mdp, 0.9), expected, rtol=0, atol=1e-10)
        gains = [planning.gain(mdp, one_hot(pi, 3).double()) for pi in policies]
        assert best == pytest.approx(max(gains).item(), abs=1e-12)


def test_equally_good_actions_do_not_make_it_cycle():
    """Every step pays 0.1: all policies are as good, but for rounding. It would never stop."""
    mdps = random_mdps(200, states=12)
    mdps = planning.MDP(mdps.transitions, torch.full_like(mdps.rewards, 0.1), mdps.available)
    worth = torch.full((200, 12, 3), 0.1 / (1 - 0.99), dtype=torch.float64)
    assert torch.allclose(planning.policy_iteration(mdps, 0.99), worth, rtol=0, atol=1e-10)


@pytest.mark.parametrize("states", [5, 12, 25, 40])
def test_an_mdp_is_solved_alone_as_in_a_batch_bit_for_bit(states):
    mdps = random_mdps(4, 8, states=states)
    together = planning.policy_iteration(mdps, 0.9)
    for i, k in itertools.product(range(4), (0, 3, 7)):
        assert torch.equal(planning.policy_iteration(one(mdps, i, k), 0.9), together[i, k])


def test_the_variance_of_a_return_adds_up_rewards_and_surprises():
    """A coin decides between a noisy loop, worth 0, and one that pays 1 for ever.

    ``Var = γ² (½ · ½ · 10² + ½ σ² / (1 − γ²))`` with γ = 0.9, where the values differ by 10.
    """
    transitions = torch.zeros(3, 1, 3).double()
    transitions[0, 0, 1:] = 0.5
    transitions[1, 0, 1] = transitions[2, 0, 2] = 1
    rewards, noise = torch.zeros(2, 3, 1, 3).double()
    rewards[2, 0, 2], noise[1, 0, 1] = 1, 0.49
    mdp = planning.MDP(transitions, rewards, torch.ones(3, 1, dtype=torch.bool))
    given = planning.return_variance(mdp, noise, torch.zeros(3, dtype=torch.int64), 0.9)[:, 0]
    loop = 0.49 / (1 - 0.81)
    assert given.tolist() == pytest.approx([0.81 * (25 + 0.5 * loop), loop, 0])
