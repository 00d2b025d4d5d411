"""The quantile regression loss is its formula, and so are its gradients."""

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
    pairs = [(q, tau, z) for q, tau in zip(quantiles, taus, strict=True) for z in samples]
    return sum(abs(tau - (z < q)) * huber(z - q, kappa) / len(samples) for q, tau, z in pairs)


@pytest.mark.parametrize(
    ("n", "expected"), [(1, [0.5]), (2, [0.25, 0.75]), (5, [0.1, 0.3, 0.5, 0.7, 0.9])]
)
def test_levels_are_the_midpoints_of_n_equal_parts(n, expected):
    torch.testing.assert_close(midpoint_levels(n), torch.tensor(expected))


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0, 10.0])
@pytest.mark.parametrize(("n", "samples"), [(1, 1), (3, 5), (50, 50), (4, 1)])
def test_equals_a_double_loop_over_quantiles_and_samples_in_every_leading_dimension(
    kappa, n, samples
):
    q, z, tau = normal(2, 3, n), 2 * normal(2, 3, samples, seed=1), levels(n)
    found = quantile_loss(q, z, tau, kappa).flatten().tolist()
    pairs = zip(q.flatten(0, 1).tolist(), z.flatten(0, 1).tolist(), strict=True)
    expected = [literal(one, other, tau.tolist(), kappa) for one, other in pairs]
    assert found == pytest.approx(expected, rel=1e-12)


def test_gradient_is_the_fraction_of_samples_below_less_the_level():
    q, z, tau = normal(7).requires_grad_(), normal(9, seed=1), levels(7)
    (gradient,) = torch.autograd.grad(quantile_loss(q, z, tau), q)
    below = (z < q.detach()[:, None]).double().mean(1)
    torch.testing.assert_close(gradient, below - tau)


def test_gradient_of_the_smoothed_loss_is_bounded_by_kappa():
    """The Huber function is not divided by κ: its slope is u up to κ, then κ."""
    tau = torch.tensor([0.25]).double()
    for z, expected in [(0.3, -0.25 * 0.3), (5.0, -0.25 * 2), (-0.4, 0.75 * 0.4), (-9.0, 0.75 * 2)]:
        q = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        loss = quantile_loss(q, torch.tensor([z]).double(), tau, kappa=2.0)
        (gradient,) = torch.autograd.grad(loss, q)
        assert gradient.item() == pytest.approx(expected)
