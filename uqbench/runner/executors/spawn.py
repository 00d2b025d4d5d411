"""Starting processes that compute: they import uqbench, never the user's script.

Nor a module that lies in the current folder, such as a ``signal.py``: a spawned process is a
``python -c``, which looks there first unless ``PYTHONSAFEPATH`` is set.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import secrets
import signal
import struct
import sys
import zlib
from collections.abc import Callable, Collection, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

MOST_BYTES = 64 << 20
"""The most bytes of a message: a hundred times those of a batch of 1,000 lanes."""
HEADER = struct.Struct("!8sII")
CHUNK = 1 << 20


class MessageError(Exception):
    """The bytes from the pipe are no message; the rest cannot be read either."""


class Channel:
    """One end of a pipe between two processes, which something else may write into.

    A plugin's stray write to a descriptor that it does not own may reach the pipe of its worker. So
    a message is framed: a random mark that only the two ends know, its length, CRC-32 and bytes.

    Args:
        connection: its end of the pipe.
        mark: 8 random bytes, which begin every message.
    """

    def __init__(self, connection: Connection, mark: bytes) -> None:
        self.connection, self._mark, self._arrived = connection, mark, bytearray()

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Two ends, one of which another process may be started with."""
        mark = secrets.token_bytes(8)
        ours, theirs = multiprocessing.Pipe()
        return cls(ours, mark), cls(theirs, mark)

    def send(self, message: Any) -> None:
        """Send a message; waits while the pipe is full.

        Raises:
            OSError: the other end is closed.
            ValueError: the message is too large.
        """
        data = pickle.dumps(message)
        if len(data) > MOST_BYTES:
            raise ValueError(f"a message of {len(data)} bytes; expected at most {MOST_BYTES}")
        left = memoryview(HEADER.pack(self._mark, len(data), zlib.crc32(data)) + data)
        while left:
            left = left[os.write(self.connection.fileno(), left) :]

    def receive(self) -> Iterator[Any]:
        """The messages that have arrived; never waits for one.

        Raises:
            EOFError: after the last message: the other end is closed.
            OSError: likewise, with something unread.
            MessageError: after the last message: what follows is none.
        """
        while self.connection.poll():
            chunk = os.read(self.connection.fileno(), CHUNK)
            if not chunk:
                raise EOFError
            self._arrived += chunk
            while (message := self._next()) is not None:
                try:
                    yield pickle.loads(message)
                except Exception as error:  # a plugin's class may raise anything
                    raise MessageError(f"its message cannot be read: {error!r}") from error

    def _next(self) -> bytes | None:
        """The bytes of the first message, once all of them have arrived."""
        mark = self._arrived[: len(self._mark)]
        length = check = 0
        if whole := len(self._arrived) >= HEADER.size:
            _, length, check = HEADER.unpack_from(self._arrived)
        end = HEADER.size + length
        stray = not self._mark.startswith(mark) or length > MOST_BYTES
        if not stray and (not whole or len(self._arrived) < end):
            return None
        data = bytes(self._arrived[HEADER.size : end])
        if stray or zlib.crc32(data) != check:
            raise MessageError("its pipe was written to by something else than uqbench")
        del self._arrived[:end]
        return data


def ready(channels: Collection[Channel], seconds: float | None = None) -> list[Channel]:
    """The channels that have something to receive, or are closed; waits for one of them."""
    readable = wait([channel.connection for channel in channels], seconds)
    return [channel for channel in channels if channel.connection in readable]


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
