"""Counter-based random numbers for lanes: a function of (seed, stream, t), nothing to checkpoint.

NumPy's Philox is keyed by a lane's seed and a named stream; its counter is the block that step
``t`` falls in. Numbers are drawn in blocks, so that a step costs one index operation.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.lanes.clock import Clock

BLOCK = 256
"""Steps whose numbers are drawn at once."""
DRAWN_AHEAD = frozenset({"cuda"})
"""Kinds of devices whose next blocks a thread draws, so that they do not wait for them."""
_THREAD = ThreadPoolExecutor(1, "draws")


def generators(seeds: Sequence[int], stream: str, index: int) -> list[np.random.Generator]:
    """NumPy generators, one per lane, for draws that depend on data, such as from a posterior.

    Args:
        seeds: one per lane.
        stream: name of the purpose.
        index: step, or block of steps; generators of different indices do not overlap.
    """
    word = int.from_bytes(sha256(stream.encode()).digest()[:8], "little")
    start = np.array([0, index, 0, 0], np.uint64)  # the low word counts the draws
    keys = (np.array([seed, word], np.uint64) for seed in seeds)
    return [np.random.Generator(np.random.Philox(key=key, counter=start)) for key in keys]


class FunctionOfStep:
    """Has nothing to save, since everything is a function of the step."""

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""


class Draws(FunctionOfStep, ABC):
    """Draws of every lane as a function of the step; the latest ``blocks`` blocks are cached.

    ``at(t)`` looks up a step by its number, ``at(clock)`` by the clock's tensor, as captured steps
    must. Steps are a clock's vector steps: actors need a dimension of the draws.

    Args:
        seeds: one per lane.
        stream: name of the purpose.
        shape: of a lane's draws of a step.
        device: of the draws; None for the CPU.
        block: steps that are drawn at once; the numbers depend on it.
        blocks: that are cached.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        stream: str,
        shape: Sequence[int] = (),
        device: torch.device | None = None,
        block: int = BLOCK,
        blocks: int = 1,
    ) -> None:
        self._seeds, self._stream = list(seeds), stream
        self._shape, self._size = (block, *shape), block
        self._device = device or torch.device("cpu")
        self._cached = [-1] * blocks
        self._rows = torch.empty(0)  # [blocks * block, L, …]
        self._clock: Clock | None = None
        self._ahead: dict[int, Future[Tensor]] = {}

    @abstractmethod
    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        """Draws ``[block, …]`` of one lane for the steps ``first``, ``first + 1``, …."""

    def prepare(self, vector_step: int) -> None:
        """Draw the block of a step and those after it, replacing the oldest ones."""
        first = vector_step // self._size
        for index in range(first, first + len(self._cached)):
            place = index % len(self._cached)
            if index == self._cached[place]:
                continue
            ahead = self._ahead.pop(index, None)
            block = ahead.result() if ahead else self._block(index)
            if not len(self._rows):
                shape = (len(self._cached) * self._size, *block.shape[1:])
                self._rows = torch.empty(shape, dtype=block.dtype, device=self._device)
            self._rows.unflatten(0, (-1, self._size))[place].copy_(block)
            self._cached[place] = index
            if self._device.type in DRAWN_AHEAD:
                self._ahead = {index + 1: _THREAD.submit(self._block, index + 1)}

    def _block(self, index: int) -> Tensor:
        """The draws of a block, ``[block, L, …]``, on the CPU."""
        lanes = generators(self._seeds, self._stream, index)
        drawn = [self._draw(generator, index * self._size) for generator in lanes]
        return torch.from_numpy(np.stack(drawn, axis=1))

    def at(self, t: int | Clock) -> Tensor:
        """The draws of step ``t``, ``[L, *shape]``."""
        if isinstance(t, int):
            self.prepare(t)
            return self._rows[t % len(self._rows)].clone()
        if t is not self._clock:
            self._clock = t
            t.prepares(self)
        if t.vector_step.is_cpu and not t.captured:
            return self._rows[int(t.vector_step) % len(self._rows)].clone()
        return self._rows.index_select(0, (t.vector_step % len(self._rows))[None])[0]


class Uniform(Draws):
    """Uniform numbers in [0, 1) of a fixed shape per lane and step, float32."""

    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        return generator.random(self._shape, dtype=np.float32)


class Normal(Uniform):
    """Standard normal numbers of a fixed shape per lane and step, float32."""

    def _draw(self, generator: np.random.Generator, first: int) -> NDArray[np.generic]:
        return generator.standard_normal(self._shape, dtype=np.float32)


def random_action(u: Tensor, n_actions: int, valid: Tensor | None = None) -> Tensor:
    """A uniformly random valid action from each ``u`` ``[...]``, uniform in [0, 1)."""
    if valid is None:
        return (u * n_actions).long()
    nth = (u * valid.sum(-1)).long() + 1
    # argmax of a bool is the first true entry: the n-th valid action
    return (valid.cumsum(-1) >= nth[..., None]).to(torch.uint8).argmax(-1)
