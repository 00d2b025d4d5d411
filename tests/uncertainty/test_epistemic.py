"""Scores of epistemic uncertainties, on errors whose distribution is known."""

from __future__ import annotations

import pytest
import torch

from uqbench.uncertainty.epistemic import (
    auroc,
    ause,
    best_constant_half_width,
    coverage_ceiling,
    ence,
    rank_correlation,
    sparsification,
    widened,
)
from uqbench.uncertainty.interval_scores import interval_score

COUNT = 20_000
STD = torch.linspace(0.5, 2.0, COUNT).double()
ERROR = STD * torch.randn(COUNT, generator=torch.Generator().manual_seed(0)).double()
NONE = torch.zeros(COUNT).double()


@pytest.mark.parametrize(
    ("level", "samples", "expected"),
    [(0.95, 10, 9 / 11), (0.5, 10, 0.5), (0.95, 39, 0.95), (0.9, None, 0.9)],
)
def test_few_samples_cannot_cover_more_than_their_extremes(level, samples, expected):
    assert coverage_ceiling(level, samples) == pytest.approx(expected)


def test_the_ceiling_is_what_samples_of_the_right_posterior_cover():
    """The share of 20,000 has a standard error of 0.003."""
    draws = torch.randn(COUNT, 11, generator=torch.Generator().manual_seed(1))
    truth, samples = draws[:, 0], draws[:, 1:]
    inside = (samples.amin(1) <= truth) & (truth <= samples.amax(1))
    assert inside.double().mean().item() == pytest.approx(coverage_ceiling(0.95, 10), abs=0.012)


@pytest.mark.parametrize("noise", [0.0, 0.5, 4.0])
def test_a_noisy_truth_does_not_lower_the_coverage_of_a_right_interval(noise):
    """Unless the noise is left out; 20,000 intervals, a standard error of 0.0021."""
    seen = ERROR + noise**0.5 * torch.randn(COUNT, generator=torch.Generator().manual_seed(2))
    ends = (-1.6448536 * STD, 1.6448536 * STD)

    def coverage(known: torch.Tensor) -> float:
        low, high = widened(*ends, known, 0.9)
        return ((low <= seen) & (seen <= high)).double().mean().item()

    assert coverage(NONE + noise) == pytest.approx(0.9, abs=0.009)
    if noise:
        assert coverage(NONE) < 0.86


def test_no_other_constant_has_a_better_interval_score():
    best = best_constant_half_width(ERROR, 0.95)

    def score(c: float) -> float:
        return interval_score(NONE - c, NONE + c, ERROR, 0.95).mean().item()

    assert all(score(best) <= score(c * best) for c in (0.5, 0.9, 0.98, 1.02, 1.1, 2.0))


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


def test_ause_is_zero_for_the_errors_order_and_one_without_any():
    assert ause(ERROR.abs(), ERROR) == pytest.approx(0)
    assert ause(torch.ones_like(ERROR), ERROR) == pytest.approx(1)
    assert 0.3 < ause(STD, ERROR) < 0.95
    assert ause(1 / STD, ERROR) > 1.05


def test_ence_is_zero_for_calibrated_predictions():
    """Ten bins of 2,000: each root mean square has a relative standard error of 1.6 %."""
    assert ence(STD, ERROR, NONE) < 0.03
    assert ence(0.5 * STD, ERROR, NONE) == pytest.approx(1, abs=0.05)
    assert ence(2 * STD, ERROR, NONE) == pytest.approx(0.5, abs=0.03)
    noise = torch.randn(COUNT, generator=torch.Generator().manual_seed(3)).double()
    assert ence(STD, ERROR + noise, NONE + 1) < 0.06
    assert ence(STD, ERROR + noise, NONE) > 0.2


def test_auroc_counts_pairs():
    assert auroc(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0])) == pytest.approx(3.5 / 4)
    assert auroc(torch.ones(3), torch.ones(5)) == pytest.approx(0.5)
