"""FTRL weights: example 4's numbers, limits, bounds."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from uqbench_sentinel import ftrl

MEANS, STDS = (0.0, -2.0, 2.0), (1.0, 0.5, 1.0)
every_kl = pytest.mark.parametrize("kl", ["member-to-mix", "mix-to-member"])


def example_4() -> Tensor:
    """Log-masses of the three Gaussians on a fine grid, ``[3, N]``."""
    z = torch.linspace(-12, 12, 24_001, dtype=torch.float64)
    mean, std = (torch.tensor(numbers, dtype=torch.float64)[:, None] for numbers in (MEANS, STDS))
    return (-((z - mean) ** 2) / (2 * std**2) - std.log()).log_softmax(-1)


def test_the_losses_of_example_4_are_divergences_from_the_member_to_the_mixture() -> None:
    """The example prints [.48, .92, .74] as KL(P̂ ‖ P_i): they are KL(P_i ‖ P̂)."""
    given = ftrl.losses(example_4(), "member-to-mix")
    torch.testing.assert_close(
        given, torch.tensor([0.481, 0.922, 0.740]).double(), atol=5e-4, rtol=0
    )


def test_the_printed_direction_gives_other_numbers() -> None:
    given = ftrl.losses(example_4(), "mix-to-member")
    torch.testing.assert_close(
        given, torch.tensor([0.725, 13.157, 2.725]).double(), atol=1e-3, rtol=0
    )


def test_the_weights_of_example_4_are_those_of_the_printed_sign() -> None:
    """[.26, .40, .34] at λ = 1, equal at 0, all on the farthest member as λ grows."""
    loss = ftrl.losses(example_4(), "member-to-mix")
    printed = torch.tensor([0.26, 0.40, 0.34]).double()
    torch.testing.assert_close(ftrl.weights(loss, 1.0, 1), printed, atol=5e-3, rtol=0)
    torch.testing.assert_close(ftrl.weights(loss, 0.0, 1), torch.full((3,), 1 / 3).double())
    assert ftrl.weights(loss, 1e6, 1).tolist() == [0, 1, 0]


def test_the_texts_sign_favors_the_member_nearest_to_the_mixture() -> None:
    loss = ftrl.losses(example_4(), "member-to-mix")
    expected = torch.tensor([0.414, 0.267, 0.319]).double()
    torch.testing.assert_close(ftrl.weights(loss, 1.0, -1), expected, atol=1e-3, rtol=0)
    assert ftrl.weights(loss, 1e6, -1).tolist() == [1, 0, 0]


logits = st.lists(st.floats(-30, 30), min_size=12, max_size=12).map(
    lambda numbers: torch.tensor(numbers, dtype=torch.float64).view(4, 3)
)


@every_kl
@settings(max_examples=40, deadline=None, derandomize=True)
@given(logits=logits, lam=st.floats(0, 20), sign=st.sampled_from([-1, 1]))
def test_weights_are_a_distribution_and_losses_are_bounded(
    kl: str, logits: Tensor, lam: float, sign: int
) -> None:
    loss = ftrl.losses(logits.log_softmax(-1), kl)
    assert (loss >= -1e-9).all()
    if kl == "member-to-mix":
        assert (loss <= math.log(4) + 1e-9).all()
    weights = ftrl.weights(loss, lam, sign)
    assert (weights >= 0).all()
    assert weights.sum().item() == pytest.approx(1)
    order = loss.argsort()
    rises = weights[order].diff() * sign
    assert (rises >= -1e-12).all()  # monotone in the loss, in the direction of the sign


@every_kl
def test_equal_members_have_no_loss_and_equal_weights(kl: str) -> None:
    same = torch.randn(51, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    loss = ftrl.losses(same.expand(2, 4, 51), kl)
    torch.testing.assert_close(loss, torch.zeros(2, 4), atol=1e-6, rtol=0)
    torch.testing.assert_close(ftrl.weights(loss, 5.0, -1), torch.full((2, 4), 0.25))
