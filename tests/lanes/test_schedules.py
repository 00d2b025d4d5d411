"""Linear decay, and when updates happen."""

from __future__ import annotations

import pytest
import torch

from uqbench.lanes.schedules import linear_schedule, update_index


@pytest.mark.parametrize(
    ("t", "expected"), [(0, 1.0), (100, 1.0), (101, 0.991), (150, 0.55), (200, 0.1), (10_000, 0.1)]
)
def test_schedule_waits_falls_linearly_and_stays(t: int, expected: float) -> None:
    value = linear_schedule(torch.tensor(t), 1.0, 0.1, start=100, steps=100)
    assert value.item() == pytest.approx(expected)


def test_periodic_updates() -> None:
    events = [step for step in range(1, 1001) if update_index(step, "periodic", 100)]
    assert events == list(range(100, 1001, 100))


def test_triangular_updates() -> None:
    """446 in 10⁵ steps; every fifth syncs the target networks: at 15, 55, 120, …."""
    events = {
        step: update
        for step in range(1, 100_001)
        if (update := update_index(step, "triangular", 1)) is not None
    }
    assert list(events)[:5] == [1, 3, 6, 10, 15]
    assert list(events.values()) == list(range(1, 447))
    assert [step for step, update in events.items() if update % 5 == 0][:4] == [15, 55, 120, 210]
