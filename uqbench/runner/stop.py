"""A request that a process ends, at once or after the step that it is in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """A request that this process ends, at once or after the step that it is in."""

    def __init__(self) -> None:
        self.asked = False
        self._deferrals = 0

    def ask(self, *_signal: object) -> None:
        """End the process, or, where that is deferred, ask for it; a signal handler.

        Raises:
            SystemExit: it is not deferred.
        """
        self.asked = True
        if not self._deferrals:
            raise SystemExit(1)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Within, only ``asked`` is set; who steps on looks at it after every step.

        Several may be within at once, their steps taking turns.
        """
        self._deferrals += 1
        try:
            yield
        finally:
            self._deferrals -= 1
        if self.asked:
            raise SystemExit(1)
