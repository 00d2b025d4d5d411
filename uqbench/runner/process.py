"""A process that computes: requests to stop it, the time of its batches."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Stop:
    """A request that this process ends, at once or after the current step."""

    def __init__(self) -> None:
        self.asked = False
        self._deferrals = 0

    def ask(self, *_signal: object) -> None:
        """End the process, or, if deferred, only note the request; a signal handler.

        Raises:
            SystemExit: it is not deferred.
        """
        self.asked = True
        if not self._deferrals:
            raise SystemExit(1)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside, :meth:`ask` only sets ``asked``, which the training loop checks after every step.

        Several loops may be inside at once, their steps interleaved.
        """
        self._deferrals += 1
        try:
            yield
        finally:
            self._deferrals -= 1
        if self.asked:
            raise SystemExit(1)


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


def _clocks() -> Spent:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(time.monotonic(), time.process_time() + children.ru_utime + children.ru_stime)
