"""When updates are due, apart from agents: reading a suite imports no torch."""

from __future__ import annotations

from math import isqrt
from typing import Literal


def update_index(step: int, schedule: Literal["periodic", "triangular"], period: int) -> int | None:
    """The index of the update due after ``step`` steps, counted from 1; None where none is due.

    Args:
        step: transitions so far, from 1 on.
        schedule: ``periodic``: at period, 2 period, …; ``triangular``: at 1, 3, 6, 10, ….
        period: of the periodic schedule, in steps.
    """
    if schedule == "periodic":
        return None if step % period else step // period
    index = triangular_numbers(step)
    return index if index * (index + 1) // 2 == step else None


def triangular_numbers(step: int) -> int:
    """How many of 1, 3, 6, 10, … are at most ``step``, which is 0 or more."""
    return (isqrt(8 * step + 1) - 1) // 2
