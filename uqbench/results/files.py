"""Atomic file writes: readers see the old file or the new one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from uqbench.errors import StorageError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_A_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""There is no file of that name; any other error says nothing about what is stored."""


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Have ``write`` fill a temporary file, flush it to disk and rename it to ``path``.

    Raises:
        StorageError: it cannot be written, as on a full disk; an old file is left untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # its own for every process
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise StorageError(
            f"{path} cannot be written: {error.strerror or error}. Finished runs are kept; fix "
            f"this and run again.",
            full=error.errno in NO_ROOM,
        ) from error
