"""Starting processes that compute: they import uqbench, never the user's script.

Nor a module that lies in the current folder, such as a ``signal.py``: a spawned process is a
``python -c``, which looks there first unless ``PYTHONSAFEPATH`` is set.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from uqbench.runner.executors.messages import Channel

SAFE = "PYTHONSAFEPATH"
ASKING = (signal.SIGTERM, signal.SIGUSR2)
"""Signals that ask a process to stop. A process that is started does not receive them before it
calls :func:`listen`: without a handler they would end it."""


def start(target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Channel]:
    """Start a process that calls ``target(channel, *arguments)``, and keep the other end.

    A spawned process otherwise executes the script again that it was started from, and a script
    without ``if __name__ == "__main__":`` would start processes without end.
    """
    main, safe = sys.modules["__main__"], os.environ.get(SAFE)
    ours, theirs = Channel.pair()
    process = multiprocessing.get_context("spawn").Process(
        target=_begin, args=(safe, target, theirs, *arguments), daemon=True
    )
    sys.modules["__main__"] = ModuleType("__main__")  # it has no file that could be imported
    os.environ[SAFE] = "1"
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        sys.modules["__main__"] = main
        _restore(safe)
    theirs.connection.close()
    return process, ours


def listen(handler: Any) -> None:
    """Have a handler called when this process is asked to stop, or was since it was started."""
    for number in ASKING:
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)


def _begin(safe: str | None, target: Callable[..., None], *arguments: Any) -> None:
    _restore(safe)  # a script that a plugin starts may import what lies beside it
    target(*arguments)


def _restore(safe: str | None) -> None:
    if safe is None:
        del os.environ[SAFE]
    else:
        os.environ[SAFE] = safe
