"""Posteriors over MDPs: moments of their samples, conjugate updates, known distributions."""

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.posteriors import normal_gamma
from uqbench_tabular.posteriors.dirichlet import dirichlet_sample, variance_of_expectation
from uqbench_tabular.posteriors.mdp_posterior import MDPPosterior

from uqbench.lanes import generators

# -- the Dirichlet -------------------------------------------------------------------------------


CPU, N = torch.device("cpu"), 40_000


def generator(seed: int = 0) -> np.random.Generator:
    """Of a lane with that seed."""
    return generators([seed], "test", 0)[0]


SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors: a normal one is farther once in 1.7 million,
and the seeds are fixed."""


def test_dirichlet_samples_have_the_moments_of_the_closed_form():
    """E = c_i/n, Cov = (δ_ij c_i/n − c_i c_j/n²)/(n + 1)."""
    c = np.array([[1.0, 2.0, 5.0], [0.5, 0.5, 0.5]])
    samples = dirichlet_sample(torch.from_numpy(c)[None], [generator()], N)[0].numpy()
    assert samples.shape == (N, 2, 3)
    assert np.allclose(samples.sum(-1), 1)
    n = c.sum(-1, keepdims=True)
    mean = c / n
    for row in range(2):
        cov = (np.diag(mean[row]) - np.outer(mean[row], mean[row])) / (n[row] + 1)
        errors = np.sqrt(np.diag(cov) / N)
        assert (np.abs(samples[:, row].mean(0) - mean[row]) < SIGMAS * errors).all()
        centered = samples[:, row] - mean[row]
        products = centered[:, :, None] * centered[:, None, :]
        errors = products.std(0) / np.sqrt(N)
        assert (np.abs(products.mean(0) - cov) < SIGMAS * errors).all()


def test_the_variance_of_an_expectation_is_that_of_samples():
    """``Var_p[Σ p x]`` in closed form, against 40 000 draws of p."""
    c = torch.tensor([[[1.0, 2.0, 5.0], [0.5, 0.5, 0.5]]], dtype=torch.float64)
    x = torch.tensor([[[3.0, -1.0, 0.5], [1e3, 1e3 + 1, 1e3 - 2]]], dtype=torch.float64)
    drawn = (dirichlet_sample(c, [generator(4)], N) * x[:, None]).sum(-1)[0]
    squares = (drawn - drawn.mean(0)) ** 2
    error, given = squares.std(0) / N**0.5, variance_of_expectation(c, x)[0]
    assert ((squares.mean(0) - given).abs() < SIGMAS * error).all()
    assert (variance_of_expectation(c, torch.full_like(x, 7.0)) < 1e-25).all()


# -- the normal-gamma ----------------------------------------------------------------------------


def test_sampled_mean_rewards_have_the_moments_of_student_t():
    """Var μ = β / (λ (α − 1)); for the paper's prior 3/8."""
    prior = normal_gamma.NormalGamma.filled((1,), (0.0, 4.0, 3.0, 3.0), CPU)
    after = normal_gamma.normal_gamma_update(prior, torch.tensor([2.0], dtype=torch.float64))
    for parameters, mean, var in ((prior, 0.0, 0.375), (after, 0.4, 4.6 / (5 * 2.5))):
        samples = normal_gamma.sample_mean(parameters, [generator()], N)[0].numpy()
        assert abs(samples.mean() - mean) < SIGMAS * np.sqrt(var / N)
        squares = (samples - mean) ** 2
        assert abs(squares.mean() - var) < SIGMAS * squares.std() / np.sqrt(N)


def test_student_t_variables_are_scipys():
    """A Kolmogorov-Smirnov test a number of degrees; 1e-4 is its error rate."""
    for seed, freedom in enumerate((2.0, 2.5, 7.0, 400.0)):
        u = torch.from_numpy(generator(seed).random((20_000, 2), dtype=np.float32))
        t = normal_gamma.student_t(u, torch.tensor(freedom, dtype=torch.float64))
        assert stats.kstest(t.numpy(), stats.t(freedom).cdf).pvalue > 1e-4


def test_marginal_and_predictive_are_the_known_student_t_distributions():
    """Quantiles against scipy's, with location and scale in closed form; scale 1/2 of the prior."""
    model = normal_gamma.NormalGamma.filled((), (1.0, 4.0, 3.0, 3.0), CPU)
    t, marginal = torch.tensor(stats.t(6).ppf(0.9)), stats.t(6, 1.0, 0.5)
    assert normal_gamma.marginal_of_mean(model, t).item() == pytest.approx(marginal.ppf(0.9))
    scale = (3 * 5 / (4 * 3)) ** 0.5
    assert normal_gamma.predictive(model, t).item() == pytest.approx(stats.t(6, 1, scale).ppf(0.9))
    assert normal_gamma.variance_of_mean(model).item() == pytest.approx(marginal.var()) == 0.375


# -- over MDPs -----------------------------------------------------------------------------------


def history(lanes: int = 2, length: int = 300) -> list[tuple[torch.Tensor, ...]]:
    """(state, action, reward, following), each ``[L]``, of three states and two actions."""
    g = torch.Generator().manual_seed(0)

    def step() -> tuple[torch.Tensor, ...]:
        state, action, following = (torch.randint(n, (lanes,), generator=g) for n in (3, 2, 3))
        return state, action, torch.randn(lanes, generator=g), following

    return [step() for _ in range(length)]


def learned(steps, rewards=(0.0, 4.0, 3.0, 3.0)):
    """From the paper's prior by default."""
    lanes = len(steps[0][0])
    posterior = MDPPosterior.prior((lanes, 3, 2), counts=1.0, rewards=rewards, device=CPU)
    for step in steps:
        posterior = posterior.updated(*step)
    return posterior


def test_the_dirichlet_parameters_are_the_prior_plus_the_counts():
    steps, expected = history(), torch.full((2, 3, 2, 3), 1.0, dtype=torch.float64)
    for state, action, _, following in steps:
        for lane in range(2):
            expected[lane, state[lane], action[lane], following[lane]] += 1
    assert torch.equal(learned(steps).counts, expected)


def test_the_normal_gamma_parameters_are_those_of_all_rewards_at_once():
    """The closed form for n rewards: β_n = β + Σ(r − r̄)²/2 + λ n (r̄ − μ₀)² / (2 (λ + n))."""
    steps = history()
    rewards = learned(steps, rewards=(0.3, 2.0, 1.5, 0.7)).rewards
    for lane, s, a, f in np.ndindex(2, 3, 2, 3):
        own = [[part[lane].item() for part in step] for step in steps]
        seen = [reward for at, did, reward, after in own if (at, did, after) == (s, a, f)]
        n, mean = len(seen), np.mean(seen)
        assert n > 5
        squares = np.sum((np.array(seen) - mean) ** 2)
        at = (lane, s, a, f)
        assert rewards.mu0[at].item() == pytest.approx((2.0 * 0.3 + n * mean) / (2.0 + n))
        assert rewards.lam[at].item() == 2.0 + n
        assert rewards.alpha[at].item() == 1.5 + n / 2
        beta = 0.7 + squares / 2 + 2.0 * n * (mean - 0.3) ** 2 / (2 * (2.0 + n))
        assert rewards.beta[at].item() == pytest.approx(beta)


def test_the_variance_of_a_backup_is_that_of_sampled_models():
    """Of ``Σ p (r̄ + γ V)`` with dynamics and mean rewards both unknown, V known.

    The rewards' part is exact where it is ``Σ E[p²] Var r̄``; the paper has ``Σ E[p] Var r̄``, which
    is larger by ``Σ (E[p] − E[p²]) Var r̄``.
    """
    posterior = learned(history(lanes=1, length=60))
    values = torch.tensor([[2.0, -3.0, 10.0]], dtype=torch.float64)
    mdps = posterior.sample([generator(5)], N, torch.ones(1, 3, 2, dtype=torch.bool))
    drawn = (mdps.transitions * (mdps.rewards + 0.9 * values[:, None, None, None])).sum(-1)[0]
    squares = (drawn - drawn.mean(0)) ** 2
    mean = posterior.counts / posterior.counts.sum(-1, keepdim=True)
    of_squares = mean**2 + mean * (1 - mean) / (posterior.counts.sum(-1, keepdim=True) + 1)
    more = ((mean - of_squares) * normal_gamma.variance_of_mean(posterior.rewards)).sum(-1)
    given, error = posterior.variance_of_backup(values, 0.9) - more, squares.std(0) / N**0.5
    assert ((squares.mean(0) - given[0]).abs() < SIGMAS * error).all()
    assert (more > SIGMAS * error).all()  # the difference would be seen
