"""The posterior over MDPs: conjugate updates, moments of its samples, independence of lanes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from uqbench_tabular.config import CertaintyEquivalenceConfig, TabularConfig
from uqbench_tabular.dirichlet import dirichlet_sample, variance_of_expectation
from uqbench_tabular.normal_gamma import (
    NormalGamma,
    marginal_of_mean,
    normal_gamma_update,
    predictive,
    sample_mean,
    student_t,
    variance_of_mean,
)
from uqbench_tabular.posterior import Posterior

from uqbench.lanes import generators

CONFIG = TabularConfig()
N = 40_000
SIGMAS = 5.0
"""Distance allowed to an estimate, in standard errors: a normal one is farther once in 1.7 million,
and the seeds are fixed."""


def generator(seed: int = 0) -> np.random.Generator:
    return generators([seed], "test", 0)[0]


def history(lanes: int = 2, length: int = 300) -> list[tuple[torch.Tensor, ...]]:
    """(state, action, reward, following), each ``[L]``, of three states and two actions."""
    g = torch.Generator().manual_seed(0)
    return [
        (
            torch.randint(3, (lanes,), generator=g),
            torch.randint(2, (lanes,), generator=g),
            torch.randn(lanes, generator=g),
            torch.randint(3, (lanes,), generator=g),
        )
        for _ in range(length)
    ]


def learned(steps: list[tuple[torch.Tensor, ...]], config: TabularConfig = CONFIG) -> Posterior:
    posterior = Posterior.prior(len(steps[0][0]), 3, 2, config, torch.device("cpu"))
    for step in steps:
        posterior = posterior.given(*step)
    return posterior


def test_the_dirichlet_parameters_are_the_prior_plus_the_counts():
    steps = history()
    expected = torch.full((2, 3, 2, 3), 1.0, dtype=torch.float64)
    for state, action, _, following in steps:
        for lane in range(2):
            expected[lane, state[lane], action[lane], following[lane]] += 1
    assert torch.equal(learned(steps).counts, expected)


def test_the_normal_gamma_parameters_are_those_of_all_rewards_at_once():
    """The closed form for n rewards: β_n = β + Σ(r − r̄)²/2 + λ n (r̄ − μ₀)² / (2 (λ + n))."""
    config = TabularConfig(prior_mu0=0.3, prior_lam=2.0, prior_alpha=1.5, prior_beta=0.7)
    steps = history()
    rewards = learned(steps, config).rewards
    for lane, s, a, f in np.ndindex(2, 3, 2, 3):
        seen = [
            reward[lane].double().item()
            for state, action, reward, following in steps
            if (state[lane], action[lane], following[lane]) == (s, a, f)
        ]
        n, mean = len(seen), np.mean(seen)
        assert n > 5
        squares = np.sum((np.array(seen) - mean) ** 2)
        at = (lane, s, a, f)
        assert rewards.mu0[at].item() == pytest.approx((2.0 * 0.3 + n * mean) / (2.0 + n))
        assert rewards.lam[at].item() == 2.0 + n
        assert rewards.alpha[at].item() == 1.5 + n / 2
        assert rewards.beta[at].item() == pytest.approx(
            0.7 + squares / 2 + 2.0 * n * (mean - 0.3) ** 2 / (2 * (2.0 + n))
        )


def test_an_update_leaves_the_posterior_before_it_alone():
    before = Posterior.prior(2, 3, 2, CONFIG, torch.device("cpu"))
    copies = {name: table.clone() for name, table in before.state_dict().items()}
    before.given(*history()[0])
    assert all(torch.equal(table, copies[name]) for name, table in before.state_dict().items())


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
        centred = samples[:, row] - mean[row]
        products = centred[:, :, None] * centred[:, None, :]
        errors = products.std(0) / np.sqrt(N)
        assert (np.abs(products.mean(0) - cov) < SIGMAS * errors).all()


def test_sampled_mean_rewards_have_the_moments_of_student_t():
    """Var μ = β / (λ (α − 1)); for the paper's prior 3/8."""
    prior = NormalGamma(*(torch.tensor([v], dtype=torch.float64) for v in (0.0, 4.0, 3.0, 3.0)))
    after = normal_gamma_update(prior, torch.tensor([2.0], dtype=torch.float64))
    for parameters, mean, var in ((prior, 0.0, 0.375), (after, 0.4, 4.6 / (5 * 2.5))):
        samples = sample_mean(parameters, [generator()], N)[0].numpy()
        assert abs(samples.mean() - mean) < SIGMAS * np.sqrt(var / N)
        squares = (samples - mean) ** 2
        assert abs(squares.mean() - var) < SIGMAS * squares.std() / np.sqrt(N)


def test_sampled_mdps_are_distributions_with_the_posterior_mean():
    posterior = learned(history())
    available = torch.ones(2, 3, 2, dtype=torch.bool)
    samples = posterior.sample(generators([3, 4], "test", 0), 4_000, available)
    mean = posterior.mean(available)
    assert samples.transitions.shape == (2, 4_000, 3, 2, 3)
    assert samples.available.shape == (2, 4_000, 3, 2)
    for drawn, expected in (
        (samples.transitions, mean.transitions),
        (samples.rewards, mean.rewards),
    ):
        error = drawn.std(1) / 4_000**0.5
        assert ((drawn.mean(1) - expected).abs() < SIGMAS * error).all()


def test_a_lanes_samples_depend_on_its_own_generator_alone():
    posterior = learned(history())
    available = torch.ones(2, 3, 2, dtype=torch.bool)
    both = posterior.sample(generators([3, 4], "test", 7), 5, available)
    alone = Posterior.from_state_dict(
        {name: table[1:] for name, table in posterior.state_dict().items()}
    ).sample(generators([4], "test", 7), 5, available[1:])
    assert torch.equal(both.transitions[1:], alone.transitions)
    assert torch.equal(both.rewards[1:], alone.rewards)


def test_generators_are_functions_of_seed_stream_and_step():
    def numbers(seed: int, stream: str, t: int) -> list[float]:
        return generators([9, seed], stream, t)[1].random(4).tolist()

    assert numbers(1, "a", 5) == numbers(1, "a", 5)
    others = [numbers(2, "a", 5), numbers(1, "b", 5), numbers(1, "a", 6)]
    assert all(set(other).isdisjoint(numbers(1, "a", 5)) for other in others)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replan_every": 0}, "replan_every must be at least one step; got 0"),
        ({"value_samples": 1}, "a variance needs value_samples ≥ 2; got 1"),
        ({"prior_counts": 0.0}, "prior_counts must be positive; got 0.0"),
        ({"prior_lam": -1.0}, "prior_lam must be positive; got -1.0"),
        ({"epsilon": 1.1}, "epsilon is a probability; got 1.1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CertaintyEquivalenceConfig(**settings)


def test_the_variance_of_an_expectation_is_that_of_samples():
    """``Var_p[Σ p x]`` in closed form, against 40 000 draws of p."""
    c = torch.tensor([[[1.0, 2.0, 5.0], [0.5, 0.5, 0.5]]], dtype=torch.float64)
    x = torch.tensor([[[3.0, -1.0, 0.5], [1e3, 1e3 + 1, 1e3 - 2]]], dtype=torch.float64)
    drawn = (dirichlet_sample(c, [generator(4)], N) * x[:, None]).sum(-1)[0]
    squares = (drawn - drawn.mean(0)) ** 2
    error = squares.std(0) / N**0.5
    given = variance_of_expectation(c, x)[0]
    assert ((squares.mean(0) - given).abs() < SIGMAS * error).all()
    assert (variance_of_expectation(c, torch.full_like(x, 7.0)) < 1e-25).all()


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
    more = ((mean - of_squares) * variance_of_mean(posterior.rewards)).sum(-1)
    given = posterior.variance_of_backup(values, 0.9) - more
    error = squares.std(0) / N**0.5
    assert ((squares.mean(0) - given[0]).abs() < SIGMAS * error).all()
    assert (more > SIGMAS * error).all()  # the difference would be seen


def test_student_t_variables_are_scipys():
    """A Kolmogorov-Smirnov test a number of degrees; 1e-4 is its error rate."""
    for seed, freedom in enumerate((2.0, 2.5, 7.0, 400.0)):
        u = torch.from_numpy(generator(seed).random((20_000, 2), dtype=np.float32))
        t = student_t(u, torch.tensor(freedom, dtype=torch.float64))
        assert stats.kstest(t.numpy(), stats.t(freedom).cdf).pvalue > 1e-4


def test_marginal_and_predictive_are_the_known_student_laws():
    """Quantiles against scipy's, with location and scale in closed form; scale 1/2 of the prior."""
    model = NormalGamma(*(torch.tensor(v, dtype=torch.float64) for v in (1.0, 4.0, 3.0, 3.0)))
    t = torch.tensor(stats.t(6).ppf(0.9))
    assert marginal_of_mean(model, t).item() == pytest.approx(stats.t(6, 1.0, 0.5).ppf(0.9))
    scale = (3 * 5 / (4 * 3)) ** 0.5
    assert predictive(model, t).item() == pytest.approx(stats.t(6, 1.0, scale).ppf(0.9))
    assert variance_of_mean(model).item() == pytest.approx(stats.t(6, 1.0, 0.5).var()) == 0.375
