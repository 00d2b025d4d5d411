"""Ctrl-C while batches are followed: raised once, between two looks at them.

An executor's library may run Python where an exception goes nowhere, such as in callbacks: a
``KeyboardInterrupt`` that is raised wherever the signal happens to strike can be lost.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

GLANCE_SECONDS = 0.1
"""Between two checks of whether one came, while nothing else is done."""


class Interrupts:
    """A note that an interrupt came.

    Args:
        said: to the user, when it is raised.
    """

    def __init__(self, said: str = "") -> None:
        self.came, self.said = False, said

    def sleep(self, seconds: float) -> None:
        """Wait; an interrupt that came before, or comes now, is raised."""
        until = time.monotonic() + seconds
        while not self.came and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, GLANCE_SECONDS))
        if self.came:
            raise KeyboardInterrupt(self.said)

    def handle(self, *_signal: object) -> None:
        """Note an interrupt, or raise it if it is the second."""
        if self.came:
            raise KeyboardInterrupt(self.said)
        self.came = True


@contextmanager
def deferred_interrupts(said: str = "") -> Iterator[Interrupts]:
    """Inside, an interrupt waits for the next sleep, or for the end; a second is raised at once.

    Outside of the main thread, which alone receives signals, there are none.
    """
    interrupts = Interrupts(said)
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    numbers = {signal.SIGINT}
    if signal.getsignal(signal.SIGTERM) is signal.default_int_handler:  # as a scheduler's does
        numbers.add(signal.SIGTERM)
    before = {number: signal.signal(number, interrupts.handle) for number in numbers}
    try:
        yield interrupts
        if interrupts.came:
            raise KeyboardInterrupt(said)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
