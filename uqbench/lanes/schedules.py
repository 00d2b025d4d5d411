"""Schedules: values (such as ε, which decays) and updates as functions of the step."""

from __future__ import annotations

from math import isqrt
from typing import Literal

from torch import Tensor


def linear_schedule(t: Tensor, initial: float, final: float, start: int, steps: int) -> Tensor:
    """``initial`` until step ``start``, then linearly to ``final`` over ``steps`` steps.

    Args:
        t: the step, ``[]``: a clock's tensor.
        initial: value up to ``start``.
        final: value from ``start + steps`` on.
        start: first step of the decay.
        steps: length of the decay.
    """
    return initial + ((t - start) / steps).clamp(0, 1) * (final - initial)


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
