"""A process that computes: requests to stop it, the time of its batches, waits on a full disk."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from uqbench.contract.errors import StorageError
from uqbench.results.records import now


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


ROOM_SECONDS = 600.0
"""How long to wait for room before the runs end as failed, with everything kept."""
POLL_SECONDS = 3.0
GLANCE_SECONDS = 0.2
"""Between two checks of whether the process was asked to stop."""

_Result = TypeVar("_Result")


class WaitsForRoom:
    """Repeats what needs room on a full disk until there is some.

    Args:
        watch: measures the batch's own time; waiting is not counted.
        stop: asks the process to stop; ends the wait.
        notify: called with messages for the user.
    """

    def __init__(self, watch: Stopwatch, stop: Stop, notify: Callable[[str], None]) -> None:
        self._watch, self._stop, self._notify = watch, stop, notify

    def __call__(self, write: Callable[[], _Result]) -> _Result:
        """Call ``write``, again and again while the disk is full.

        Raises:
            StorageError: it cannot be written for another reason; or there was no room for
                ``ROOM_SECONDS``, or the process was asked to stop.
        """
        began, warned = time.monotonic(), False
        while True:
            try:
                return write()
            except StorageError as error:
                late = time.monotonic() - began >= ROOM_SECONDS
                if not error.full or self._stop.asked or late:
                    raise
                if not warned:
                    warned = True
                    self._notify(
                        f"paused at {now()}, the disk is full: {error} It resumes when there is "
                        f"room; after {ROOM_SECONDS / 60:.0f} minutes it fails, keeping everything."
                    )
            with self._watch.paused():
                retry = time.monotonic() + POLL_SECONDS
                while time.monotonic() < retry and not self._stop.asked:
                    time.sleep(min(GLANCE_SECONDS, POLL_SECONDS))
