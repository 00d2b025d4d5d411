"""Bayesian Q-learning: the projection, the mixture, and one update by numerical integration."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special, stats
from uqbench_tabular.agents import bql
from uqbench_tabular.posteriors.normal_gamma import NormalGamma, normal_gamma_update, student_t

from uqbench.agent import Step
from uqbench.lanes import generators
from uqbench.testing.worlds import act, step_of_actors


def of(*values: float) -> NormalGamma:
    """A normal-gamma with fields ``[1]``."""
    return NormalGamma.filled((1,), values, torch.device("cpu"))


def numbers(model: NormalGamma) -> list[float]:
    return [field.item() for field in model.fields().values()]


@pytest.mark.parametrize(("x", "y"), [(1, 0.577216), (3, 0.175828), (10, 0.0508325)])
def test_f_has_its_known_values(x, y):
    assert bql.f(torch.tensor(float(x)).double()).item() == pytest.approx(y, abs=5e-7)


def test_the_inverse_of_f_is_found_to_1e_8():
    x = torch.logspace(-6, 5, 500, dtype=torch.float64)
    assert ((bql.inverse_f(bql.f(x)) / x - 1).abs() < 1e-8).all()
    y = 0.31
    root = optimize.brentq(lambda z: math.log(z) - special.digamma(z) - y, 1e-3, 1e3, xtol=1e-14)
    assert bql.inverse_f(torch.tensor(y).double()).item() == pytest.approx(root, rel=1e-8)


@pytest.mark.parametrize("model", [(0, 4, 3, 3), (-2.5, 0.7, 1.1, 40.0), (1e3, 50, 900, 1e-3)])
def test_the_projection_of_a_normal_gamma_is_itself(model):
    found = numbers(bql.nearest_normal_gamma(bql.mixture_moments(of(*model))))
    assert found == pytest.approx(model, rel=1e-6)


def test_the_projection_minimizes_the_divergence_from_a_mixture():
    """``KL(q ‖ p)`` is ``−E_q log p`` and a constant; scipy's minimum has the same parameters."""
    parts = torch.tensor([[-1.0, 2.0], [3.0, 8.0], [4.0, 2.5], [2.0, 5.0]]).double()
    q = bql.mixture_moments(NormalGamma(*parts))
    mu2_tau = (q.spread + q.mu_tau**2 / q.tau).item()

    def cross_entropy(p: np.ndarray) -> float:
        m, lam, alpha, beta = p[0], *np.exp(p[1:])
        square = mu2_tau - 2 * m * q.mu_tau.item() + m**2 * q.tau.item()
        return -(
            0.5 * math.log(lam) - 0.5 * lam * square + alpha * math.log(beta)
            - special.gammaln(alpha) + (alpha - 0.5) * q.log_tau.item() - beta * q.tau.item()
        )  # fmt: skip

    best = optimize.minimize(cross_entropy, np.zeros(4), tol=1e-12, options={"gtol": 1e-9}).x
    expected = [best[0], *np.exp(best[1:])]
    assert numbers(bql.nearest_normal_gamma(q)) == pytest.approx(expected, rel=1e-4)


def test_alpha_stays_above_one():
    q = bql.Moments(*torch.tensor([[1.0], [0.0], [1.0], [-50.0]]).double())
    assert bql.nearest_normal_gamma(q).alpha.item() == 1 + 1e-6
    still = bql.Moments(*torch.tensor([[1.0], [0.0], [0.0], [0.0]]).double())
    assert all(math.isfinite(value) for value in numbers(bql.nearest_normal_gamma(still)))


def learned_next_state(learner: bql.BayesianQLearning) -> NormalGamma:
    """Give state 1 a known posterior, with action 1 the better one there; return that of it."""
    following, one = of(2.0, 5.0, 6.0, 4.0), torch.ones(1, dtype=torch.int64)
    learner.returns = learner.returns.replaced((one - 1, one, one), following)
    return following


def transition(reward: float) -> Step:
    zero, no = torch.zeros(1, dtype=torch.int64), torch.tensor([False])
    return step_of_actors(zero, zero, torch.tensor([reward]), no, no, zero + 1)


@pytest.mark.parametrize(
    ("moments", "samples", "tolerance"),
    [("rao-blackwell", 5_000, 0.01), ("monte-carlo", 10_000, 0.05)],
)
def test_an_update_is_the_mixture_over_the_next_states_return(moments, samples, tolerance, make):
    """The moments of the mixture by numerical integration over z, then the projection."""
    learner = make(bql.BayesianQLearning, (0,), 3, samples=samples, moments=moments)
    m, lam, alpha, beta = numbers(learned_next_state(learner))
    next_return = stats.t(2 * alpha, m, (beta * (lam + 1) / (alpha * lam)) ** 0.5)

    def expectation(term) -> float:
        def integrand(z: float) -> float:
            after = normal_gamma_update(of(0.0, 4.0, 3.0, 3.0), torch.tensor([0.5 + 0.9 * z]))
            return next_return.pdf(z) * term(*numbers(after))

        return integrate.quad(integrand, -40, 44, limit=200)[0]

    tau = expectation(lambda m, lam, a, b: a / b)
    mu_tau = expectation(lambda m, lam, a, b: m * a / b)
    mu2_tau = expectation(lambda m, lam, a, b: 1 / lam + m**2 * a / b)
    log_tau = expectation(lambda m, lam, a, b: special.digamma(a) - math.log(b))
    of_mixture = tau, mu_tau, mu2_tau - mu_tau**2 / tau, log_tau
    exact = bql.Moments(*torch.tensor(of_mixture).double()[:, None])
    learner.observe(transition(0.5))
    given = [field[0, 0, 0].item() for field in learner.returns.fields().values()]
    assert given == pytest.approx(numbers(bql.nearest_normal_gamma(exact)), rel=tolerance)
    untouched = [field[0, 2, 1].item() for field in learner.returns.fields().values()]
    assert untouched == [0.0, 4.0, 3.0, 3.0]


def test_the_next_action_is_the_best_available_by_its_mean(make):
    """Where the better action of the next state is masked, the update is that of the other."""
    free, masked, other = (make(bql.BayesianQLearning, (0,), 3) for _ in range(3))
    learned_next_state(free)
    learned_next_state(masked)
    only_first, step = torch.tensor([[True, False]]), transition(0.5)
    free.observe(step)
    masked.observe(step_of_actors(**{**vars(step), "valid_actions": only_first}))
    other.observe(step)  # both actions of state 1 have the prior
    at = (0, 0, 0)
    assert masked.returns.mu0[at] == other.returns.mu0[at] != free.returns.mu0[at]


def test_actions_are_thompson_samples_of_the_means(make):
    """Two actions with N(μ) marginals: how often the first wins, of 20 000 actions of 100 lanes."""
    learner = make(bql.BayesianQLearning, range(100), 3, samples=2)
    state = torch.zeros(100, dtype=torch.int64)
    model = of(0.3, 4.0, 3.0, 3.0).map(lambda v: v.expand(100))
    learner.returns = learner.returns.replaced((torch.arange(100), state, state), model)
    taken = []
    for learner.t in range(200):
        taken.append(act(learner, state))
    first = (torch.stack(taken) == 0).double().mean().item()
    u = torch.from_numpy(generators([1], "test", 0)[0].random((400_000, 2, 2)))
    t = 0.5 * student_t(u, torch.tensor(6.0).double())
    expected = (t[:, 0] + 0.3 > t[:, 1]).double().mean().item()
    assert abs(first - expected) < 5 * 0.5 / 20_000**0.5
    assert abs(expected - 0.5) > 0.05
