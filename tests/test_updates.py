"""When updates happen."""

from __future__ import annotations

from uqbench.updates import update_index


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
