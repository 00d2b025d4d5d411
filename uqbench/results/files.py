"""Reading and writing regular files, atomically: readers find the old file or the new one.

A results folder may come from anywhere, so symbolic links in place of files are not followed,
reading a pipe does not hang, and names of temporary files cannot be guessed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from uqbench.errors import StorageError, UqbenchError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_A_FILE = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO,
)  # fmt: skip
"""There is no regular file of that name; other errors say nothing about what is there."""


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading; links, folders, pipes and devices are refused.

    Raises:
        OSError: it cannot be opened; one of ``NOT_A_FILE`` if it is not a regular file.
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
        most: largest size in bytes; None for no limit.

    Raises:
        OSError: see :func:`open_file`.
        ValueError: it is larger.
    """
    with open_file(path) as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise ValueError(f"it has more than {most:,} bytes")
    return data


def stored_text(data: bytes, path: Path) -> str:
    """The text of a file that is part of a stored board.

    Raises:
        UqbenchError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UqbenchError(f"{path} is damaged, because it is not UTF-8: {error}") from error


def file_digest(path: Path, most: int | None = None) -> str:
    """The sha256 of a file.

    Args:
        path: the file.
        most: largest size in bytes; None for no limit.

    Raises:
        OSError: see :func:`open_file`.
        ValueError: it is larger; nothing of it is read.
    """
    with open_file(path) as file:
        if most is not None and os.fstat(file.fileno()).st_size > most:
            raise ValueError(f"it has more than {most:,} bytes")
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_linked(root: Path, path: Path) -> bool:
    """Whether a path leaves the root, or a symbolic link lies between them."""
    if not path.is_relative_to(root):
        return True
    names = path.relative_to(root).parts
    return ".." in names or any(
        root.joinpath(*names[: n + 1]).is_symlink() for n in range(len(names))
    )


def create(folder: Path, name: str) -> tuple[BinaryIO, Path]:
    """Create a temporary file next to a file called ``name``; nobody can have planted a link.

    Raises:
        OSError: it cannot be created.
    """
    path = folder / f".{name}.{secrets.token_hex(8)}.tmp"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "w+b"), path


def remove_temporaries(folder: Path, names: Iterable[str]) -> None:
    """Remove what writers that were killed left of files with these names in a folder.

    Nothing else is removed, whatever its name, and no folder. What cannot be removed stays: it is
    never read, and takes room alone.
    """
    left = re.compile(rf"\.(?:{'|'.join(map(re.escape, names))})\.[0-9a-f]{{16}}\.tmp")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            if left.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
                Path(entry).unlink()


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, and flush their names to disk.

    Raises:
        OSError: it cannot be created.
    """
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        flush_names(new.parent)


def flush_names(folder: Path) -> None:
    """Flush to disk which files and folders a folder has.

    Raises:
        OSError: that failed.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a temporary file, flush it to disk, and rename it.

    Raises:
        StorageError: it cannot be written, as on a full disk; an old file is left untouched.
    """
    temporary: Path | None = None
    try:
        make_folder(path.parent)
        file, temporary = create(path.parent, path.name)
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        flush_names(path.parent)
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


def copy_whole(source: Path, path: Path) -> None:
    """Copy a file in pieces, so that its size takes no memory.

    Raises:
        StorageError: it cannot be read, or the copy not be written.
    """

    def pour(target: BinaryIO) -> None:
        while piece := read(1 << 20):
            target.write(piece)

    def read(size: int) -> bytes:
        try:
            return file.read(size)
        except OSError as error:
            raise StorageError(f"{source} cannot be read: {error.strerror}") from error

    try:
        file = open_file(source)
    except OSError as error:
        raise StorageError(f"{source} cannot be read: {error.strerror}") from error
    with file:
        write_whole(path, pour)


def write_data(path: Path, data: bytes) -> None:
    """The same of bytes that are at hand."""
    write_whole(path, lambda file: file.write(data))


def check_output(path: Path) -> None:
    """See that a file that the user names is a new one, or a regular one of their own.

    Raises:
        UqbenchError: it is a link, a folder, a pipe, a device, or somebody else's.
    """
    try:
        found = path.lstat()
    except OSError:
        return  # there is none, or writing says why it cannot be
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        what = "is somebody else's" if stat.S_ISREG(found.st_mode) else "is no regular file"
        raise UqbenchError(
            f"{path} {what}, and would be replaced: name a new file, or a regular one of your own."
        )


def write_output(path: Path, data: bytes) -> None:
    """Write a file that the user names.

    Raises:
        UqbenchError: see :func:`check_output`.
        StorageError: it cannot be written.
    """
    check_output(path)
    write_data(path, data)


def _discard(temporary: Path | None) -> None:
    if temporary is not None:
        with suppress(OSError):
            temporary.unlink()
