"""Messages between two processes, whose pipe may be written into by something else.

A plugin's stray write to a descriptor that it does not own may reach the pipe of its worker. So a
message is framed: a random mark that only the two ends know, its length, its CRC-32, its bytes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import secrets
import struct
import zlib
from collections.abc import Collection, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

MOST_BYTES = 64 << 20
"""Of a message: a hundred times those of a batch of 1,000 lanes."""
HEADER = struct.Struct("!8sII")
CHUNK = 1 << 20


class MessageError(Exception):
    """The bytes from the pipe are no message; the rest cannot be read either."""


class Channel:
    """One end of a pipe between two processes.

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
