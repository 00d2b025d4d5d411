"""Levels that hold for everything a board prints."""

ALPHA = 0.05
MINIMUM_SEEDS = 3
"""With fewer there is no interval, and no claim is decided."""

DRAWS = 9_999
"""Of what is known by chance alone."""

MOST_SEEDS = 10_000
"""As far as a number of seeds that would decide is searched for."""

POWER = 0.8
"""Probability with which that many seeds decide, at the present estimates and spreads."""


def seeds_for_a_word(tasks: int) -> int:
    """The fewest from which stated intervals have a word: t intervals of fewer err too often.

    Ten, and twenty runs on all of so many tasks (``benchmarks/words.py``).
    """
    return max(10, -(-20 // tasks))
