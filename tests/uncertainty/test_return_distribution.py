"""Predicted return distributions against true ones: the 1-Wasserstein distance."""

from __future__ import annotations

import torch

from uqbench.agent import Uncertainty
from uqbench.uncertainty.interval_scores import score_return_distribution, wasserstein


def test_samples_of_equal_number_are_matched_in_order() -> None:
    x, y = torch.randn(2, 5, 40, generator=torch.Generator().manual_seed(0)).double()
    mass = torch.full_like(x, 1 / 40)
    expected = (x.sort().values - y.sort().values).abs().mean(-1)
    torch.testing.assert_close(wasserstein(x, mass, y, mass), expected)


def test_a_distribution_goes_before_samples_of_q_and_nothing_has_no_score() -> None:
    atoms, probs = torch.zeros(1, 2, 1).double(), torch.ones(1, 2, 1).double()
    law = {name: torch.ones(3, 1, 2, 1) for name in ("return_atoms", "return_probs")}
    samples = {"value_samples": torch.tensor([-2.0, 4.0]).expand(3, 1, 2, 2)}
    for stated, expected in ((law, [1, 1, 1]), (samples, [3, 3, 3]), (law | samples, [1, 1, 1])):
        found = score_return_distribution(Uncertainty(**stated), atoms, probs)
        assert found["uncertainty/wasserstein"].tolist() == expected
    assert score_return_distribution(Uncertainty(), atoms, probs) == {}
