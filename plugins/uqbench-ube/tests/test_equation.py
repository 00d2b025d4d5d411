"""The uncertainty Bellman equation: against closed forms, sampled posteriors and its operator."""

import pytest
import torch
from uqbench_ube.equation import iterate_uncertainty, solve_uncertainty, uncertainty_backup
from uqbench_ube.local import Moments, count, dirichlet_moments, plain, ratio

SOLVERS = [solve_uncertainty, iterate_uncertainty]


def random_problem(batch: tuple[int, ...], states: int = 5, actions: int = 3, seed: int = 0):
    g = torch.Generator().manual_seed(seed)
    transitions = torch.rand(*batch, states, actions, states, generator=g, dtype=torch.float64)
    policy = torch.rand(*batch, states, actions, generator=g, dtype=torch.float64)
    local = torch.rand(*batch, states, actions, generator=g, dtype=torch.float64)
    return local, *(x / x.sum(-1, keepdim=True) for x in (policy, transitions))


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_the_solution_is_the_fixed_point_of_equation_2(solve, batch):
    local, policy, transitions = random_problem(batch)
    u = solve(local, policy, transitions, 0.95)
    assert u.shape == (*batch, 5, 3)
    # written out, for the last problem of the batch
    one = [t.reshape(-1, *t.shape[len(batch) :])[-1] for t in (u, local, policy, transitions)]
    u, local, policy, transitions = one
    following = torch.einsum("zb,saz,zb->sa", policy, transitions, u)
    torch.testing.assert_close(u, local + 0.95**2 * following, rtol=1e-9, atol=0)


def test_iteration_comes_to_the_linear_solution_as_a_contraction_does():
    local, policy, transitions = random_problem((50,))
    solution = solve_uncertainty(local, policy, transitions, 0.9)
    u = torch.rand_like(local) * 100
    error = (u - solution).abs().amax((-2, -1))
    for _ in range(20):
        u = uncertainty_backup(u, local, policy, transitions, 0.9)
        after = (u - solution).abs().amax((-2, -1))
        assert (after <= 0.81 * error + 1e-12).all()
        error = after
    iterated = iterate_uncertainty(local, policy, transitions, 0.9, tolerance=1e-6)
    assert ((iterated - solution).abs().amax((-2, -1)) <= 1e-6 * solution.amax((-2, -1))).all()
    assert (iterated <= solution + 1e-12).all()


def test_an_iterated_problem_is_the_same_alone_and_among_others_bit_for_bit():
    local, policy, transitions = random_problem((7,))
    transitions[3] *= 0.5  # one that converges earlier
    together = iterate_uncertainty(local, policy, transitions, 0.95)
    for i in range(7):
        own = (x[i : i + 1] for x in (local, policy, transitions))
        assert torch.equal(iterate_uncertainty(*own, 0.95)[0], together[i])


@pytest.mark.parametrize("solve", SOLVERS)
def test_with_gamma_1_a_finite_horizon_adds_up(solve):
    """A corridor of three states, then the end: a row of zeros, or an absorbing state."""
    local = torch.tensor([[1.0], [2.0], [4.0]])
    policy, transitions = torch.ones(3, 1), torch.zeros(3, 1, 3)
    transitions[0, 0, 1] = transitions[1, 0, 2] = 1
    assert solve(local, policy, transitions, 1.0)[:, 0].tolist() == pytest.approx([7, 6, 4])
    absorbing = torch.zeros(4, 1, 4)
    absorbing[:3, :, :3] = transitions
    absorbing[2, 0, 3] = absorbing[3, 0, 3] = 1
    u = solve(torch.cat([local, torch.zeros(1, 1)]), torch.ones(4, 1), absorbing, 1.0)
    assert u[:, 0].tolist() == pytest.approx([7, 6, 4, 0])


@pytest.mark.parametrize("solve", SOLVERS)
def test_with_gamma_1_a_step_that_repeats_counts_as_often_as_it_happens(solve):
    """One state that is left with probability 1/4: four visits in expectation."""
    loop = torch.full((1, 1, 1), 0.75, dtype=torch.float64)
    u = solve(torch.full((1, 1), 3.0), torch.ones(1, 1), loop, 1.0)
    assert u.item() == pytest.approx(12, rel=1e-6)


@pytest.mark.parametrize("solve", SOLVERS)
def test_with_gamma_1_uncertainty_for_ever_is_an_error_that_names_the_states(solve):
    transitions = torch.eye(3)[:, None].contiguous()
    local = torch.tensor([[1.0], [0.0], [1.0]])
    with pytest.raises(ValueError, match=r"infinite: from states \[0, 2\]"):
        solve(local, torch.ones(3, 1), transitions, 1.0)
    # the policy, not the process, decides: with the second action it ends
    two = torch.cat([transitions, torch.zeros(3, 1, 3)], 1)
    policy = torch.tensor([[0.0, 1.0]]).expand(3, 2)
    assert solve(local.expand(3, 2), policy, two, 1.0).isfinite().all()


IMPOSSIBLE = [
    ({"local": torch.full((2, 1), torch.inf)}, "finite"),
    ({"policy": torch.full((2, 1), 0.5)}, "sum to 1"),
    ({"transitions": torch.ones(2, 1, 2)}, "sum to at most 1"),
    ({"transitions": torch.ones(2, 2)}, r"transitions \[\*, S, A, S\]"),
    ({"policy": torch.ones(3, 1)}, r"policy \[\*, 2, 1\]"),
    ({"discount": 1.5}, "between 0 and 1"),
]


@pytest.mark.parametrize(("change", "message"), IMPOSSIBLE)
def test_arguments_that_cannot_be_are_told(change, message):
    given = {"local": torch.ones(2, 1), "policy": torch.ones(2, 1), "discount": 0.9}
    given["transitions"] = torch.full((2, 1, 2), 0.5)
    with pytest.raises(ValueError, match=message):
        solve_uncertainty(**given | change)


# -- the theorem --------------------------------------------------------------------------------


def layered_posterior(seed: int, depth: int = 4, width: int = 2, samples: int = 4_000):
    """A random DAG of layers, Dirichlet transitions and Gaussian mean rewards; sampled Q-values.

    Returns:
        Moments ``[S, A, …]``, a policy, and samples of ``Q̂^π`` ``[K, S, A]``.
    """
    g = torch.Generator().manual_seed(seed)
    states, actions = depth * width, 2
    counts = torch.zeros(states, actions, states, dtype=torch.float64)
    for layer in range(depth - 1):
        here = slice(layer * width, (layer + 1) * width)
        there = slice((layer + 1) * width, (layer + 2) * width)
        drawn = torch.rand(width, actions, width, generator=g, dtype=torch.float64)
        counts[here, :, there] = 0.5 + 3 * drawn
    reward_var = 0.2 * torch.rand(states, actions, generator=g, dtype=torch.float64)
    gammas = torch._standard_gamma(counts.expand(samples, -1, -1, -1).clamp(min=1e-300), g)
    gammas = gammas * (counts > 0)
    transitions = gammas / gammas.sum(-1, keepdim=True).clamp(min=1e-300)
    rewards = torch.randn(samples, states, actions, generator=g, dtype=torch.float64)
    rewards = rewards.clamp(-1, 1)  # Assumption 2: bounded
    policy = torch.rand(states, actions, generator=g, dtype=torch.float64)
    policy = policy / policy.sum(-1, keepdim=True)
    q = torch.zeros(samples, states, actions, dtype=torch.float64)
    for _ in range(depth):
        values = (policy * q).sum(-1)
        q = rewards * reward_var.sqrt() + 0.9 * (transitions * values[:, None, None]).sum(-1)
    total = counts.sum(-1, keepdim=True).clamp(min=1e-300)
    mean = counts / total
    moments = Moments((rewards * reward_var.sqrt()).var(0), mean, mean * (1 - mean) / (total + 1))
    return moments, policy, q, float(q.abs().max())


@pytest.mark.parametrize("seed", range(3))
def test_on_a_dag_the_solution_bounds_the_posterior_variance(seed):
    """Theorem 1, with the valid local uncertainty. Sampled variances are within 10 % at 4σ."""
    moments, policy, q, q_max = layered_posterior(seed=seed)
    u = solve_uncertainty(ratio(moments, q_max, 0.9), policy, moments.transition_mean, 0.9)
    assert (u >= 0.9 * q.var(0)).all()
    # the last layer is exact: nothing follows
    torch.testing.assert_close(u[-2:], q.var(0)[-2:])


def test_without_the_division_it_is_no_bound_and_the_ratio_is_tight():
    """One step to ±Q with probability Beta(1, 1): the variance of Q(2p − 1) is Q² / 3."""
    counts = torch.tensor([[[1.0, 1.0]]], dtype=torch.float64)
    moments = dirichlet_moments(counts, torch.zeros(1, 1, dtype=torch.float64))
    q_max = 3.0
    assert plain(moments, q_max, 1.0).item() == pytest.approx(q_max**2 / 6)
    assert ratio(moments, q_max, 1.0).item() == pytest.approx(q_max**2 / 3)
    p = torch.rand(200_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sampled = (q_max * (2 * p - 1)).var().item()  # standard error 0.2 %
    assert sampled == pytest.approx(q_max**2 / 3, rel=0.01)
    assert plain(moments, q_max, 1.0).item() < 0.6 * sampled


def test_with_dirichlet_posteriors_ratios_are_successors_over_counts_and_plain_is_variance():
    counts = 0.3 + torch.rand(4, 3, 5, generator=torch.Generator().manual_seed(1)).double()
    moments = dirichlet_moments(counts, torch.full((4, 3), 0.25, dtype=torch.float64))
    expected = 0.25 + 0.81 * 100 * 4 / (counts.sum(-1) + 1)
    torch.testing.assert_close(ratio(moments, 10.0, 0.9), expected)
    added = 0.81 * 100 * moments.transition_var.sum(-1)
    torch.testing.assert_close(plain(moments, 10.0, 0.9), 0.25 + added)


def test_excluded_successors_add_nothing_and_counts_are_over_visits():
    moments = Moments(torch.zeros(1, 1), torch.tensor([[[0.0, 1.0]]]), torch.zeros(1, 1, 2))
    assert ratio(moments, 5.0, 0.9).item() == 0
    assert count(torch.tensor([[4.0, 1.0, 0.0]]), 3.0).tolist() == [[2.25, 9.0, torch.inf]]
