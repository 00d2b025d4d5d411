"""Time of a batch's own steps where the steps of several batches are interleaved."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Spent(NamedTuple):
    """Time that was spent.

    Attributes:
        seconds: wall time.
        cpu_seconds: time of this process on its cores, and of the processes that it waited for; a
            busy machine does not add to it.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def plus(self, other: Spent, sign: int = 1) -> Spent:
        """The sum; the difference where ``sign`` is -1."""
        return Spent(
            self.seconds + sign * other.seconds, self.cpu_seconds + sign * other.cpu_seconds
        )


class Stopwatch:
    """Time spent within it, over all of its steps.

    The times of interleaved batches of one process add up to no more than the process took,
    even where a step waits for what another has queued on a GPU.
    """

    def __init__(self) -> None:
        self._before = Spent()
        self._began: Spent | None = None

    @property
    def spent(self) -> Spent:
        """Time of the steps that ended, and of the current one."""
        if self._began is None:
            return self._before
        return self._before.plus(_clocks()).plus(self._began, -1)

    def __enter__(self) -> None:
        self._began = _clocks()

    def __exit__(self, *_error: object) -> None:
        self._before, self._began = self.spent, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time that does not count, within a step."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()


def _clocks() -> Spent:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(time.monotonic(), time.process_time() + children.ru_utime + children.ru_stime)
