"""Predicted return distributions against true ones: the 1-Wasserstein distance."""

from dataclasses import replace

import torch

from uqbench.agent import Uncertainty
from uqbench.uncertainty.interval_scores import score_return_distribution, wasserstein


def test_samples_of_equal_number_are_matched_in_order():
    x, y = torch.randn(2, 5, 40, generator=torch.Generator().manual_seed(0)).double()
    mass = torch.full_like(x, 1 / 40)
    expected = (x.sort().values - y.sort().values).abs().mean(-1)
    torch.testing.assert_close(wasserstein(x, mass, y, mass), expected)


def test_a_distribution_goes_before_samples_of_q_and_nothing_has_no_score():
    atoms, probs = torch.zeros(1, 2, 1).double(), torch.ones(1, 2, 1).double()
    own = Uncertainty(return_atoms=torch.ones(3, 1, 2, 1), return_probs=torch.ones(3, 1, 2, 1))
    samples = Uncertainty(value_samples=torch.tensor([-2.0, 4.0]).expand(3, 1, 2, 2))
    both = replace(own, value_samples=samples.value_samples)
    for stated, distance in ((own, 1), (samples, 3), (both, 1)):
        found = score_return_distribution(stated, atoms, probs)["uncertainty/wasserstein"]
        assert found.tolist() == [distance] * 3
    assert score_return_distribution(Uncertainty(), atoms, probs) == {}
