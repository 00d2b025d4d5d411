"""Values that are functions of the step, such as ε, which decays."""

from __future__ import annotations

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
