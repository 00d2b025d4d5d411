"""Distinct integers as functions of the step: minibatches of a replay buffer without repeats."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.lanes.clock import Clock
from uqbench.lanes.random import BLOCK, Draws


class DistinctIntegers(Draws):
    """``count`` distinct integers below the pool's size: a replay batch without repeats.

    The pool at draw ``n`` holds ``min((n // draws + 1) · added, capacity)`` items: ``added`` are
    added before every ``draws`` draws, and the oldest are dropped.

    Raises:
        ValueError: at a step when the pool is smaller than ``count``.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        stream: str,
        count: int,
        capacity: int,
        device: torch.device | None = None,
        *,
        added: int = 1,
        draws: int = 1,
    ) -> None:
        block = draws * max(1, BLOCK // draws)
        super().__init__(seeds, stream, (count,), device, block)
        self._count, self._capacity, self._added, self._draws = count, capacity, added, draws

    def at(self, t: int | Clock) -> Tensor:
        """The integers of draw ``t``, ``[L, count]`` int64."""
        draw = t if isinstance(t, int) else t.t // t.actors
        pool = min((draw // self._draws + 1) * self._added, self._capacity)
        if pool < self._count:
            raise ValueError(
                f"expected at least {self._count} stored items to draw from, got {pool} at "
                f"step {draw // self._draws * self._added}; start learning later or draw fewer"
            )
        return super().at(t)

    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        additions = np.arange(first, first + self._size) // self._draws + 1
        pool = np.minimum(additions * self._added, self._capacity)
        pool = np.maximum(pool, self._count)  # rows that ``at`` rejects
        return distinct(generator.random(self._shape), pool)


def distinct(u: NDArray[np.float64], pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Floyd's algorithm: turn uniforms ``[T, K]`` into K distinct integers below ``pool`` ``[T]``.

    Every subset of size K is equally likely (Bentley & Floyd 1987, "A sample of brilliance").
    """
    count = u.shape[1]
    last = pool[:, None] - np.arange(count, 0, -1)
    chosen: NDArray[np.int64] = np.minimum((u * (last + 1)).astype(np.int64), last)
    ordered = np.sort(chosen, 1)
    (again,) = (ordered[:, 1:] == ordered[:, :-1]).any(1).nonzero()  # few rows, of a large pool
    rows = chosen[again]
    for k in range(1, count):
        repeated = (rows[:, :k] == rows[:, k, None]).any(1)
        rows[repeated, k] = last[again[repeated], k]
    chosen[again] = rows
    return chosen
