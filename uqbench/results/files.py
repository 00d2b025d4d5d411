"""Reading and writing files: plain files only, and whole: the old one or the new one.

A folder of results may come from anywhere. No symbolic link is followed in the place of a file, a
pipe does not hang who reads it, and the names of temporary files cannot be guessed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from uqbench.errors import StorageError, UqbenchError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_A_FILE = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO,
)  # fmt: skip
"""What is there under a name is no file; any other error says nothing about what is there."""


def open_file(path: Path) -> BufferedReader:
    """Open a file for reading, and nothing else: no link, no folder, no pipe or device.

    Raises:
        OSError: it cannot be opened; one of ``NOT_A_FILE`` where what is there is no file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link", str(path)) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder", str(path))
        raise OSError(errno.ENXIO, "it is a pipe or a device", str(path))
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The contents of a file.

    Args:
        path: the file.
        most: bytes that it may have; None for any number.

    Raises:
        OSError: see :func:`open_file`.
        ValueError: it is larger.
    """
    with open_file(path) as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return data


def stored_bytes(path: Path) -> bytes:
    """The contents of a file that is part of a stored board.

    Raises:
        UqbenchError: it is no file, or cannot be read.
    """
    try:
        return read_bytes(path)
    except OSError as error:
        raise UqbenchError(
            f"{path} is damaged, because it cannot be read: {error.strerror}"
        ) from error


def stored_text(data: bytes, path: Path) -> str:
    """What such a file says.

    Raises:
        UqbenchError: it is no UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UqbenchError(f"{path} is damaged, because it is not UTF-8: {error}") from error


def file_digest(path: Path) -> str:
    """The sha256 of a file.

    Raises:
        OSError: see :func:`open_file`.
    """
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_linked(root: Path, path: Path) -> bool:
    """Whether a path leaves the root, or there is a symbolic link on the way down to it."""
    if not path.is_relative_to(root):
        return True
    names = path.relative_to(root).parts
    return ".." in names or any(
        root.joinpath(*names[: n + 1]).is_symlink() for n in range(len(names))
    )


def create(folder: Path, name: str) -> tuple[BinaryIO, Path]:
    """A new temporary file beside a file called ``name``; nobody can have put a link in its place.

    Raises:
        OSError: it cannot be made.
    """
    path = folder / f".{name}.{secrets.token_hex(8)}.tmp"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "w+b"), path


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a temporary file, flush it to disk, and give it its name.

    Raises:
        StorageError: it cannot be written, as on a full disk; an old file is left untouched.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file, temporary = create(path.parent, path.name)
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        _discard(temporary)
        raise StorageError(
            f"{path} cannot be written: {error.strerror or error}. Finished runs are kept; fix "
            f"this and run again.",
            full=error.errno in NO_ROOM,
        ) from error
    except BaseException:
        _discard(temporary)
        raise


def _discard(temporary: Path | None) -> None:
    if temporary is not None:
        with suppress(OSError):
            temporary.unlink()
