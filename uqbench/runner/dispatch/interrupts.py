"""Ctrl-C while orders are followed: heard once, between two looks at them.

An executor's library may run Python where an exception goes nowhere, such as in callbacks: a
``KeyboardInterrupt`` that is raised wherever the signal happens to strike can be lost.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def heard_while_waiting() -> Iterator[Callable[[float], None]]:
    """A ``sleep`` in which an interrupt that came before or during it is raised.

    One that comes elsewhere waits for the next sleep, or for the end; a second one is raised at
    once. Outside of the main thread, which alone hears signals, it is :func:`time.sleep`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield time.sleep
        return
    waiting = heard = False

    def hear(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        if waiting or heard:
            raise KeyboardInterrupt
        heard = True

    def sleep(seconds: float) -> None:
        nonlocal waiting
        waiting = True
        try:
            if heard:
                raise KeyboardInterrupt
            time.sleep(seconds)
        finally:
            waiting = False

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield sleep
        if heard:
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)
