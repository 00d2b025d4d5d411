"""A request that a process ends, at once or after the current step."""

from collections.abc import Iterator
from contextlib import contextmanager


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
