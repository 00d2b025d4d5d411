"""Counter-based random numbers for lanes: a function of (seed, stream, t), nothing to checkpoint.

NumPy's Philox is keyed by a lane's seed and a named stream; its counter is the block that step
``t`` falls in. Numbers are drawn in blocks, so that a step costs one index operation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.lanes.clock import Clock


def generators(seeds: Sequence[int], stream: str, index: int) -> list[np.random.Generator]:
    """NumPy generators, one per lane, for draws that depend on data, such as from a posterior.

    Args:
        seeds: one per lane.
        stream: name of the purpose.
        index: step, or block of steps; generators of different indices do not overlap.
    """
    word = int.from_bytes(sha256(stream.encode()).digest()[:8], "little")
    return [
        np.random.Generator(
            np.random.Philox(
                key=np.array([seed, word], np.uint64),
                counter=np.array([0, index, 0, 0], np.uint64),  # the low word counts the draws
            )
        )
        for seed in seeds
    ]


class FunctionOfStep:
    """Has nothing to save, since everything is a function of the step."""

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""


class Draws(FunctionOfStep, ABC):
    """Draws of every lane as a function of the step; the latest block is cached.

    ``at(t)`` looks up a step by its number, ``at(clock)`` by the clock's tensor, as captured steps
    must.
    """

    def __init__(
        self, seeds: Sequence[int], stream: str, device: torch.device, block: int = 256
    ) -> None:
        self._seeds = list(seeds)
        self._stream = stream
        self._device = device
        self._size = block
        self._index = -1
        self._block = torch.empty(0)
        self._clock: Clock | None = None

    @abstractmethod
    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        """Draws ``[block, …]`` of one lane for the steps ``first``, ``first + 1``, …."""

    def prepare(self, t: int) -> None:
        """Draw the block of step ``t``, replacing the cached one."""
        index = t // self._size
        if index == self._index:
            return
        lanes = [
            self._draw(generator, index * self._size)
            for generator in generators(self._seeds, self._stream, index)
        ]
        block = torch.from_numpy(np.stack(lanes, axis=1))
        if self._index == -1:
            self._block = block.to(self._device)
        else:
            self._block.copy_(block)
        self._index = index

    def _values(self, t: int | Clock) -> Tensor:
        if isinstance(t, int):
            self.prepare(t)
            return self._block[t % self._size].clone()
        if t is not self._clock:
            self._clock = t
            t.prepares(self)
        return self._block.index_select(0, (t.tensor % self._size)[None])[0]


class Uniform(Draws):
    """Uniform numbers in [0, 1) of a fixed shape per lane and step.

    ``block`` steps are drawn at once and cached; the numbers depend on it.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        stream: str,
        shape: Sequence[int] = (),
        device: torch.device | None = None,
        block: int = 256,
    ) -> None:
        super().__init__(seeds, stream, device or torch.device("cpu"), block)
        self._shape = tuple(shape)

    def at(self, t: int | Clock) -> Tensor:
        """The draws of step ``t``, ``[L, *shape]`` float32."""
        return self._values(t)

    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        return generator.random((self._size, *self._shape), dtype=np.float32)


class Normal(Uniform):
    """Standard normal numbers of a fixed shape per lane and step."""

    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        return generator.standard_normal((self._size, *self._shape), dtype=np.float32)


class DistinctIntegers(Draws):
    """``count`` distinct integers below the pool's size: a replay batch without repeats.

    The pool at step ``t`` holds ``min(t + 1, capacity)`` items: one is added every step, and the
    oldest is dropped.

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
    ) -> None:
        super().__init__(seeds, stream, device or torch.device("cpu"))
        self._count = count
        self._capacity = capacity

    def at(self, t: int | Clock) -> Tensor:
        """The integers of step ``t``, ``[L, count]`` int64."""
        step = t if isinstance(t, int) else t.t
        pool = min(step + 1, self._capacity)
        if pool < self._count:
            raise ValueError(
                f"expected at least {self._count} stored items to draw from, got {pool} at "
                f"step {step}; start learning later or draw fewer"
            )
        return self._values(t)

    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        pool = np.minimum(np.arange(first, first + self._size) + 1, self._capacity)
        pool = np.maximum(pool, self._count)  # rows that ``at`` rejects
        return distinct(generator.random((self._size, self._count)), pool)


def distinct(u: NDArray[np.float64], pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Floyd's algorithm: turn uniforms ``[T, K]`` into K distinct integers below ``pool`` ``[T]``.

    Every subset of size K is equally likely (Bentley & Floyd 1987, "A sample of brilliance").
    """
    steps, count = u.shape
    chosen = np.empty((steps, count), np.int64)
    for k in range(count):
        last = pool - count + k
        candidate = np.minimum((u[:, k] * (last + 1)).astype(np.int64), last)
        repeated = (chosen[:, :k] == candidate[:, None]).any(1)
        chosen[:, k] = np.where(repeated, last, candidate)
    return chosen
