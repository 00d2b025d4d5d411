"""Ranks, pairs and differences between actions, by hand and by simulated returns."""

from __future__ import annotations

import pytest
import torch

from uqbench.uncertainty.epistemic import (
    action_noise,
    auroc,
    rank_correlation,
    resolved,
    sparsification,
)


def test_rank_correlation_is_spearmans():
    x, y = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([10.0, 20.0, 40.0, 30.0])
    assert rank_correlation(x, y) == pytest.approx(1 - 6 * 2 / (4 * 15))
    tied = rank_correlation(torch.tensor([1.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0]))
    assert tied == pytest.approx(1.5 / (1.5 * 2) ** 0.5)
    assert torch.tensor(rank_correlation(torch.ones(3), x[:3])).isnan()


def test_sparsification_leaves_out_the_most_uncertain_first():
    std, error = torch.tensor([3.0, 1.0, 2.0, 4.0]), torch.tensor([-1.0, 2.0, 4.0, 9.0])
    curve = sparsification(std, error).tolist()
    assert (curve[0], curve[5], curve[10], curve[15]) == pytest.approx((4, 7 / 3, 3, 2))


def test_auroc_counts_pairs():
    assert auroc(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0])) == pytest.approx(3.5 / 4)
    assert auroc(torch.ones(3), torch.ones(5)) == pytest.approx(0.5)


@pytest.mark.parametrize("rollouts", [8, 32])
def test_differences_between_actions_are_resolved_at_twice_their_standard_error(rollouts):
    """Values of variance 1 between three actions, an own noise of variance 4 a rollout, and one of
    100 that a state's actions share, and that counts nothing. Of 8 the standard error is .7 of the
    deviation, of 32 a third; 4,000 states, so that both are known to a hundredth."""
    generator = torch.Generator().manual_seed(0)
    shape = (4_000, 3, rollouts)
    value, shared = torch.randn(4_000, 3, 1, generator=generator), torch.randn(4_000, 1, rollouts)
    returns = value + 2 * torch.randn(shape, generator=generator) + 10 * shared
    noise, estimated = action_noise(returns.double())
    assert noise == pytest.approx(4 / rollouts * 2 / 3, rel=0.03)
    assert estimated - noise == pytest.approx(2 / 3, rel=0.06)
    assert bool(resolved(noise, estimated)) == (rollouts == 32)
