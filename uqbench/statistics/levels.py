"""Levels that hold for everything a board prints."""

ALPHA = 0.05
MINIMUM_SEEDS = 3
"""With fewer there is no interval, and no claim is decided."""

DRAWS = 9_999
"""Random draws of what is known by chance alone."""

MOST_SEEDS = 10_000
"""As far as a number of seeds that would decide is searched for."""

POWER = 0.8
"""Probability with which that many seeds decide, at the present estimates and spreads."""
