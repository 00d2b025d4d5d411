"""When updates happen."""

from __future__ import annotations

from uqbench.updates import triangular_numbers


def test_triangular_updates() -> None:
    """446 in 10⁵ steps; every fifth syncs the target networks: at 15, 55, 120, …."""
    due = [
        step
        for step in range(1, 100_001)
        if triangular_numbers(step) > triangular_numbers(step - 1)
    ]
    assert due[:5] == [1, 3, 6, 10, 15]
    assert len(due) == triangular_numbers(100_000) == 446
    assert due[4::5][:4] == [15, 55, 120, 210]
