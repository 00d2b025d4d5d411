"""Ctrl-C while batches are followed: raised once, between two looks at them.

An executor's library may run Python where an exception goes nowhere, such as in callbacks: a
``KeyboardInterrupt`` that is raised wherever the signal happens to strike can be lost.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """Whether an interrupt came."""

    def __init__(self) -> None:
        self.came = self._sleeps = False

    def sleep(self, seconds: float) -> None:
        """Wait; an interrupt that came before, or comes now, is raised."""
        self._sleeps = True
        try:
            if self.came:
                raise KeyboardInterrupt
            time.sleep(seconds)
        finally:
            self._sleeps = False

    def handle(self, *_signal: object) -> None:
        """Note an interrupt, or raise it: in a sleep, and if it is the second."""
        if self._sleeps or self.came:
            raise KeyboardInterrupt
        self.came = True


@contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Inside, an interrupt waits for the next sleep, or for the end; a second is raised at once.

    Outside of the main thread, which alone receives signals, there are none.
    """
    interrupts = Interrupts()
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
            raise KeyboardInterrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
