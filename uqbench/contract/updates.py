"""Steps at which updates are due, apart from agents: reading a suite imports no torch."""

from math import isqrt


def triangular_numbers(step: int) -> int:
    """The number of 1, 3, 6, 10, … that are at most ``step``, which is 0 or more."""
    return (isqrt(8 * step + 1) - 1) // 2
