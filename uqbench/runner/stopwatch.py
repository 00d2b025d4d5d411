"""How long a batch's own steps take where the steps of several batches are interleaved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Wall time spent within it, over all of its steps.

    The times of interleaved batches of one process add up to no more than the process took,
    even where a step waits for what another has queued on a GPU.
    """

    def __init__(self) -> None:
        self._before = 0.0
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds of the steps that ended, and of the current one."""
        if self._began is None:
            return self._before
        return self._before + time.monotonic() - self._began

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_error: object) -> None:
        self._before, self._began = self.seconds, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time that does not count, within a step."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()
