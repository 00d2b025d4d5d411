"""Linear decay."""

from __future__ import annotations

import pytest
import torch

from uqbench.lanes import linear_schedule


@pytest.mark.parametrize(
    ("t", "expected"), [(0, 1.0), (100, 1.0), (101, 0.991), (150, 0.55), (200, 0.1), (10_000, 0.1)]
)
def test_schedule_waits_falls_linearly_and_stays(t: int, expected: float) -> None:
    value = linear_schedule(torch.tensor(t), 1.0, 0.1, start=100, steps=100)
    assert value.item() == pytest.approx(expected)
