"""Risk against coverage of comparisons of policies."""

import pytest
import torch
from uqbench_minatar.offline.pairs import area, pair_scores, told_apart

VALUES = torch.randn(60, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
PAIRS = told_apart(VALUES, torch.full_like(VALUES, 1e-6))


def test_the_area_is_the_mean_share_wrong_among_the_most_confident() -> None:
    wrong = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    confidence = torch.tensor([[2.0, 9.0, 1.0, 0.5]])  # shares 0, 1/2, 1/3, 1/4
    assert area(wrong, confidence).item() == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 4)


def test_pairs_of_one_confidence_are_in_a_random_order() -> None:
    wrong = torch.tensor([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])
    assert area(wrong, torch.ones(2, 4)).tolist() == [0.5, 0.5]
    confidence = torch.tensor([[2.0, 2.0, 1.0, 0.5]])  # 1/2, 1/2, 1/3, 1/2
    assert area(wrong[:1], confidence).item() == pytest.approx((1 / 2 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_pairs_within_three_standard_errors_are_not_asked() -> None:
    values = torch.tensor([0.0, 0.4, 1.0])  # standard errors of differences √.02 = .141
    assert told_apart(values, torch.full((3,), 0.01)).tolist() == [[0, 1], [2, 2]]


def known(lanes: int = 40) -> tuple[torch.Tensor, torch.Tensor]:
    """Means whose errors have the deviations given: half of them .1, half 2."""
    generator = torch.Generator().manual_seed(2)
    std = torch.where(torch.arange(60) % 2 == 0, 0.1, 2.0).double().expand(lanes, -1)
    noise = torch.randn(lanes, 60, generator=generator, dtype=torch.float64)
    return VALUES + noise * std, std


def test_widths_gain_where_they_tell_errors_and_lose_where_they_are_turned() -> None:
    mean, std = known()
    true, turned, one = (
        pair_scores(mean, width, None, VALUES, PAIRS)
        for width in (std, 2.1 - std, torch.full_like(std, 3.0))
    )
    # 40 lanes; a gain of .08 with a deviation of .02: wrong sign less than once in 10⁴ runs
    assert true["pairs_gain"].mean() > 0.05
    assert turned["pairs_gain"].mean() < -0.02
    assert one["pairs_gain"].abs().max() < 1e-12


def test_only_the_order_of_widths_counts_and_no_widths_gain_nothing() -> None:
    mean, std = known()
    own, wide, none, zero = (
        pair_scores(mean, width, None, VALUES, PAIRS) for width in (std, 100 * std, None, 0 * std)
    )
    for name, score in wide.items():
        torch.testing.assert_close(score, own[name], atol=1e-12, rtol=0)
    assert none["pairs_gain"].abs().max() == 0
    assert torch.equal(none["pairs_risk"], zero["pairs_risk"])


def test_what_all_values_share_is_no_doubt_about_a_difference() -> None:
    mean, std = known()
    generator = torch.Generator().manual_seed(3)
    drawn = torch.randn(40, 60, 200, generator=generator, dtype=torch.float64) * std[..., None]
    shared = 50 * torch.randn(40, 1, 200, generator=generator, dtype=torch.float64)
    apart, together = (
        pair_scores(mean, samples.std(-1), samples, VALUES, PAIRS)["pairs_risk"]
        for samples in (drawn, drawn + shared)
    )
    torch.testing.assert_close(together, apart, atol=1e-9, rtol=0)


def test_who_says_the_same_of_all_is_wrong_half_of_the_time() -> None:
    right_but_for_rounding = 0.4 + 1e-12 * VALUES
    for mean in (torch.zeros(60).double(), right_but_for_rounding):
        same = pair_scores(mean[None], torch.rand(1, 60).double(), None, VALUES, PAIRS)
        assert same["pairs_wrong"].item() == same["pairs_risk"].item() == 0.5
        assert same["pairs_gain"].item() == 0
