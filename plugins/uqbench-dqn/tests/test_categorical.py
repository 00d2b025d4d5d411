"""Categorical distributions: the projection keeps mass and mean, and is equation 7."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from uqbench_dqn.categorical import cross_entropy, project, support

ATOMS = support(21, -3.0, 7.0)
distributions = (
    st.lists(st.integers(0, 20), min_size=6, max_size=6)
    .filter(any)
    .map(lambda counts: torch.tensor(counts, dtype=torch.float32) / sum(counts))
)
values = st.lists(st.floats(-9, 13, width=32), min_size=6, max_size=6).map(torch.tensor)
examples = settings(max_examples=25, deadline=None, derandomize=True)


@examples
@given(z=values, p=distributions)
def test_projection_is_equation_7(z: Tensor, p: Tensor) -> None:
    share = 1 - (z.clamp(-3, 7) - ATOMS[:, None]).abs() / 0.5
    torch.testing.assert_close(
        project(z, p, ATOMS), (share.clamp(0, 1) * p).sum(-1), atol=1e-5, rtol=0
    )


@examples
@given(z=values, p=distributions)
def test_projection_keeps_mass_and_the_mean_of_what_is_inside(z: Tensor, p: Tensor) -> None:
    projected = project(z, p, ATOMS)
    assert (projected >= -1e-7).all()
    torch.testing.assert_close(projected.sum(), p.sum())
    torch.testing.assert_close(
        (projected * ATOMS).sum(), (p * z.clamp(-3, 7)).sum(), atol=1e-4, rtol=1e-4
    )


def test_a_distribution_on_the_support_stays_as_it_is() -> None:
    p = torch.rand(4, 21, generator=torch.Generator().manual_seed(0)).softmax(-1)
    torch.testing.assert_close(project(ATOMS.expand(4, 21), p, ATOMS), p, atol=1e-6, rtol=0)


def test_one_row_of_values_serves_many_laws() -> None:
    p = torch.rand(4, 3, 21, generator=torch.Generator().manual_seed(0)).softmax(-1)
    shifted = 0.9 * ATOMS + 1
    every = torch.stack(
        [project(shifted, distribution, ATOMS) for distribution in p.flatten(0, 1)]
    ).view(4, 3, 21)
    torch.testing.assert_close(project(shifted.expand(4, 1, 21), p, ATOMS), every)


def test_cross_entropy_is_least_at_the_target_itself() -> None:
    target = torch.tensor([0.2, 0.5, 0.3])
    logits = target.log().requires_grad_()
    loss = cross_entropy(logits, target)
    torch.testing.assert_close(loss, -(target * target.log()).sum())
    (gradient,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(gradient, torch.zeros(3), atol=1e-6, rtol=0)
