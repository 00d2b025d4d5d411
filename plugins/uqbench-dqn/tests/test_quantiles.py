"""The quantile regression loss is its formula, and quantiles are what it is least at."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from uqbench_dqn.quantiles import midpoint_levels, quantile_loss


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def levels(n: int) -> Tensor:
    return midpoint_levels(n).double()


def huber(u: float, kappa: float) -> float:
    if kappa == 0:
        return abs(u)
    return 0.5 * u * u if abs(u) <= kappa else kappa * (abs(u) - 0.5 * kappa)


def literal(quantiles: list[float], samples: list[float], taus: list[float], kappa: float) -> float:
    """``Σ_i 1/S Σ_j |τ_i − 1[z_j < q_i]| L_κ(z_j − q_i)``."""
    total = 0.0
    for q, tau in zip(quantiles, taus, strict=True):
        for z in samples:
            total += abs(tau - (z < q)) * huber(z - q, kappa) / len(samples)
    return total


@pytest.mark.parametrize(
    ("n", "expected"), [(1, [0.5]), (2, [0.25, 0.75]), (5, [0.1, 0.3, 0.5, 0.7, 0.9])]
)
def test_levels_are_the_midpoints_of_n_equal_parts(n: int, expected: list[float]) -> None:
    torch.testing.assert_close(midpoint_levels(n), torch.tensor(expected))


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0, 10.0])
@pytest.mark.parametrize(("n", "samples"), [(1, 1), (3, 5), (50, 50), (4, 1)])
def test_equals_a_double_loop_over_quantiles_and_samples(
    kappa: float, n: int, samples: int
) -> None:
    q, z, tau = normal(n), 2 * normal(samples, seed=1), levels(n)
    expected = literal(q.tolist(), z.tolist(), tau.tolist(), kappa)
    assert quantile_loss(q, z, tau, kappa).item() == pytest.approx(expected, rel=1e-12)


def test_a_value_computed_by_hand() -> None:
    """τ = ¼, ¾; q = 0, 4; z = 1, −2: (¼·1 + ¾·2)/2 + (¼·3 + ¼·6)/2."""
    q, z = torch.tensor([0.0, 4.0]), torch.tensor([1.0, -2.0])
    assert quantile_loss(q, z, midpoint_levels(2)).item() == pytest.approx(0.875 + 1.125)


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_leading_dimensions_are_kept_apart(kappa: float) -> None:
    q, z, tau = normal(3, 4, 6), normal(3, 4, 5, seed=1), levels(6)
    loss = quantile_loss(q, z, tau, kappa)
    assert loss.shape == (3, 4)
    one_by_one = [quantile_loss(q[i, j], z[i, j], tau, kappa) for i in range(3) for j in range(4)]
    torch.testing.assert_close(loss.flatten(), torch.stack(one_by_one))


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_sums_over_quantiles_and_takes_the_mean_over_samples(kappa: float) -> None:
    q, z, tau = normal(6), normal(5, seed=1), levels(6)
    loss = quantile_loss(q, z, tau, kappa)
    torch.testing.assert_close(quantile_loss(q, z.repeat(3), tau, kappa), loss)
    torch.testing.assert_close(quantile_loss(q.repeat(3), z, tau.repeat(3), kappa), 3 * loss)


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_is_zero_where_all_quantiles_and_samples_agree_and_positive_elsewhere(kappa: float) -> None:
    tau = levels(4)
    assert quantile_loss(torch.full((4,), 2.0), torch.full((3,), 2.0), tau, kappa) == 0
    assert quantile_loss(torch.full((4,), 2.0), torch.full((3,), 2.5), tau, kappa) > 0
    assert quantile_loss(torch.full((4,), 2.5), torch.full((3,), 2.0), tau, kappa) > 0


@pytest.mark.parametrize("tau", [0.05, 0.25, 0.5, 0.77, 0.95])
def test_is_least_at_the_empirical_quantile(tau: float) -> None:
    """11 samples; no n·τ is whole, so the least point is one of them, and one only."""
    z = normal(11)
    grid = torch.cat([z, torch.linspace(-4, 4, 2001, dtype=torch.float64)])
    losses = quantile_loss(grid[:, None], z.expand(len(grid), -1), torch.tensor([tau]).double())
    assert grid[losses.argmin()] == z.sort().values[math.ceil(11 * tau) - 1]


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_descent_leaves_a_fraction_tau_of_the_samples_below(tau: float) -> None:
    z = normal(10_000)
    q = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    for step in range(400):
        (gradient,) = torch.autograd.grad(quantile_loss(q, z, torch.tensor([tau]).double()), q)
        q = (q - 2 / (1 + step / 20) * gradient).detach().requires_grad_()
    assert (z < q).double().mean().item() == pytest.approx(tau, abs=0.005)


def test_gradient_is_the_fraction_of_samples_below_less_the_level() -> None:
    q, z, tau = normal(7).requires_grad_(), normal(9, seed=1), levels(7)
    (gradient,) = torch.autograd.grad(quantile_loss(q, z, tau), q)
    below = (z < q.detach()[:, None]).double().mean(1)
    torch.testing.assert_close(gradient, below - tau)


def test_gradient_of_the_smoothed_loss_is_bounded_by_kappa() -> None:
    """The Huber function is not divided by κ: its slope is u up to κ, then κ."""
    tau = torch.tensor([0.25]).double()
    for z, expected in [(0.3, -0.25 * 0.3), (5.0, -0.25 * 2), (-0.4, 0.75 * 0.4), (-9.0, 0.75 * 2)]:
        q = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        loss = quantile_loss(q, torch.tensor([z]).double(), tau, kappa=2.0)
        (gradient,) = torch.autograd.grad(loss, q)
        assert gradient.item() == pytest.approx(expected)


def test_divided_by_kappa_the_smoothed_loss_tends_to_the_plain_one() -> None:
    q, z, tau = normal(7), normal(9, seed=1), levels(7)
    plain = quantile_loss(q, z, tau)
    errors = [
        (quantile_loss(q, z, tau, kappa) / kappa - plain).abs().item()
        for kappa in (1e-1, 1e-2, 1e-3, 1e-4)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 7 * 1e-4  # at most κ/2 for each quantile


def test_large_kappa_is_the_asymmetric_square() -> None:
    q, z, tau = normal(3), normal(4, seed=1), levels(3)
    u = z - q[:, None]
    expected = ((tau[:, None] - (u < 0).double()).abs() * u.square() / 2).mean(1).sum()
    torch.testing.assert_close(quantile_loss(q, z, tau, kappa=100.0), expected)
