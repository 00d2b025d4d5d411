"""When the networks are updated (Tables 5 to 8)."""

from __future__ import annotations

from math import isqrt
from typing import Literal


def update_number(
    step: int, schedule: Literal["periodic", "triangular"], period: int
) -> int | None:
    """The how-manieth update comes after ``step`` steps, from 1 on; None where none does.

    Args:
        step: transitions taken, from 1 on.
        schedule: ``periodic``: at period, 2 period, …; ``triangular``: at 1, 3, 6, 10, ….
        period: of the periodic one, in steps.
    """
    if schedule == "periodic":
        return None if step % period else step // period
    number = (isqrt(8 * step + 1) - 1) // 2
    return number if number * (number + 1) // 2 == step else None
