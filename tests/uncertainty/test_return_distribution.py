"""Predicted return distributions against true ones: the 1-Wasserstein distance."""

import pytest
import torch

from uqbench.agent import Uncertainty
from uqbench.uncertainty.interval_scores import score_return_distribution, wasserstein


def test_the_distance_of_two_points_is_how_far_they_are_apart():
    one = torch.ones(1, dtype=torch.float64)
    assert wasserstein(3 * one, one, -2 * one, one).item() == pytest.approx(5)


def test_mass_that_has_to_move_by_hand():
    """¼ from 0 to 1 and ¼ from 0 to 4; the rest stays."""
    found = wasserstein(
        torch.tensor([0.0, 1.0, 4.0]),
        torch.tensor([0.5, 0.25, 0.25]),
        torch.tensor([0.0]),
        torch.tensor([1.0]),
    )
    assert found.item() == pytest.approx(0.25 * 1 + 0.25 * 4)


def test_samples_of_equal_number_are_matched_in_order():
    x, y = torch.randn(2, 5, 40, generator=torch.Generator().manual_seed(0)).double()
    mass = torch.full_like(x, 1 / 40)
    expected = (x.sort().values - y.sort().values).abs().mean(-1)
    torch.testing.assert_close(wasserstein(x, mass, y, mass), expected)


def test_a_distribution_goes_before_samples_of_q_and_nothing_has_no_score():
    atoms, probs = torch.zeros(1, 2, 1).double(), torch.ones(1, 2, 1).double()
    own = Uncertainty(return_atoms=torch.ones(3, 1, 2, 1), return_probs=torch.ones(3, 1, 2, 1))
    samples = Uncertainty(value_samples=torch.tensor([-2.0, 4.0]).expand(3, 1, 2, 2))
    both = Uncertainty(
        return_atoms=own.return_atoms,
        return_probs=own.return_probs,
        value_samples=samples.value_samples,
    )
    name = "uncertainty/wasserstein"
    assert score_return_distribution(own, atoms, probs)[name].tolist() == [1, 1, 1]
    assert score_return_distribution(samples, atoms, probs)[name].tolist() == [3, 3, 3]
    assert score_return_distribution(both, atoms, probs)[name].tolist() == [1, 1, 1]
    assert score_return_distribution(Uncertainty(), atoms, probs) == {}
