"""Levels that hold for everything a board prints."""

ALPHA = 0.05
MINIMUM_SEEDS = 3
"""With fewer there is no interval, and no claim is decided."""

WORD_SEEDS, WORD_RUNS = 10, 20
"""With fewer of either, stated intervals have no word: t intervals of shares err too often then."""

DRAWS = 9_999
"""Of what is known by chance alone."""

MOST_SEEDS = 10_000
"""As far as a number of seeds that would decide is searched for."""

POWER = 0.8
"""Probability with which that many seeds decide, at the present estimates and spreads."""


def seeds_for_a_word(tasks: int) -> int:
    """The fewest seeds from which stated intervals have a word, on so many tasks."""
    return max(WORD_SEEDS, -(-WORD_RUNS // tasks))
