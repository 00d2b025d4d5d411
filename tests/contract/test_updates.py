"""When updates happen."""

from uqbench.updates import triangular_numbers


def test_triangular_updates():
    """446 in 10⁵ steps; every fifth syncs the target networks: at 15, 55, 120, …."""
    made = [triangular_numbers(step) for step in range(100_001)]
    due = [step for step in range(1, 100_001) if made[step] > made[step - 1]]
    assert due[:5] == [1, 3, 6, 10, 15]
    assert len(due) == made[-1] == 446
    assert due[4::5][:4] == [15, 55, 120, 210]
