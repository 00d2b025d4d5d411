"""The one way below a results folder and a folder of boards, which may come from anywhere.

A :class:`Folder` is reached from a root that the user named, and through no link: each name on the
way is looked at. Its files are regular ones, read up to a limit, and replaced whole: readers find
the old file or the new one. Names of temporary files cannot be guessed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from uqbench.contract.errors import StorageError, UqbenchError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_A_FILE = (
    errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO,
)  # fmt: skip
"""There is no regular file of that name; other errors say nothing about what is there."""
LONGEST = 255
"""Most bytes of a name on common file systems."""
DEAD_SECONDS = 86_400.0
"""Age of a temporary file whose writer cannot be alive."""
_NAME = re.compile(r"[^./\\\0][^/\\\0]*")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

Signature = tuple[int, int, int, int]
"""Size, times of modification and change in ns, inode: another after every change of a file."""


@dataclass(frozen=True)
class Folder:
    """A folder below a root.

    Attributes:
        root: as the user named it; it may be a link.
        names: that lead from the root to the folder, none of them through a link.
    """

    root: Path
    names: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Its path, for messages and for libraries that take paths."""
        return self.root.joinpath(*self.names)

    @property
    def name(self) -> str:
        """The last name."""
        return self.names[-1]

    def __str__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def below(self, *names: str) -> Folder:
        """A folder below this one.

        Raises:
            UqbenchError: a name is not that of a single folder.
        """
        for name in names:
            fits = len(name.encode("utf-8", "replace")) <= LONGEST
            if not fits or not _NAME.fullmatch(name):
                raise UqbenchError(
                    f"{name!r} cannot be the name of a folder below {self}; expected a name of at "
                    f"most {LONGEST} bytes without slashes, which does not begin with a dot."
                )
        return Folder(self.root, (*self.names, *names))

    def at(self, place: PurePosixPath | str) -> Folder:
        """The folder at the end of a relative path; see :meth:`below`."""
        return self.below(*str(place).split("/"))

    @property
    def parent(self) -> Folder:
        """The folder that it is in."""
        return Folder(self.root, self.names[:-1])

    def way(self, create: bool = False) -> Path:
        """Its path, once all names that lead to it are seen to be folders.

        Raises:
            OSError: one is not there, or is a link or a file.
        """
        if create:
            _make(self.root)
        path = self.root
        for name in self.names:
            above, path = path, path / name
            if create:
                with suppress(FileExistsError):
                    path.mkdir()
                    _flush(above)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise OSError(errno.ELOOP, f"{name} is a symbolic link", str(self))
            if not stat.S_ISDIR(mode):
                raise OSError(errno.ENOTDIR, "it is no folder", str(path))
        return path

    def make(self) -> None:
        """Create the folder and those above it, and flush their names to disk.

        Raises:
            OSError: it cannot be created.
        """
        self.way(create=True)

    def kinds(self) -> dict[str, str]:
        """Its entries: names with ``folder``, ``link`` or ``file``, which is all else.

        Raises:
            OSError: it cannot be listed.
        """
        with os.scandir(self.way()) as entries:
            return {
                entry.name: "folder"
                if entry.is_dir(follow_symlinks=False)
                else ("link" if entry.is_symlink() else "file")
                for entry in entries
            }

    def names_of(self, ending: str) -> list[str]:
        """Names of files that end with a dot and ``ending``, sorted; none where it has none."""
        with suppress(OSError):
            kinds = self.kinds()
            return sorted(n for n in kinds if kinds[n] == "file" and n.endswith(f".{ending}"))
        return []

    def has(self, name: str) -> bool:
        """Whether there is anything of that name, and no link leads to it."""
        try:
            (self.way() / name).lstat()
        except OSError:
            return False
        return True

    def signatures(self, *names: str) -> list[Signature | None]:
        """Signatures of regular files; None where there is none of that name."""
        with suppress(OSError):
            return [signature(folder / name) for folder in [self.way()] for name in names]
        return [None] * len(names)

    def open(self, name: str, most: int | None = None) -> BufferedReader:
        """Open a regular file for reading; links, folders, pipes and devices are refused.

        Args:
            name: of the file.
            most: largest size in bytes; None for no limit.

        Raises:
            OSError: it cannot be opened; one of ``NOT_A_FILE`` if it is not a regular file.
            ValueError: it is larger; nothing of it is read.
        """
        try:
            descriptor = os.open(self.way() / name, _FILE)
        except OSError as error:
            if error.errno == errno.ELOOP and error.filename == str(self / name):
                raise OSError(errno.ELOOP, "it is a symbolic link", str(self / name)) from error
            raise
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and (most is None or status.st_size <= most):
            return os.fdopen(descriptor, "rb")
        os.close(descriptor)
        if stat.S_ISREG(status.st_mode):
            raise ValueError(f"it has more than {most:,} bytes")
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, "it is a folder", str(self / name))
        raise OSError(errno.ENXIO, "it is a pipe or a device", str(self / name))

    def read(self, name: str, most: int | None = None) -> bytes:
        """The contents of a file; arguments and errors are those of :meth:`open`."""
        with self.open(name, most) as file:
            return file.read()

    def digest(self, name: str, most: int | None = None) -> str:
        """The sha256 of a file; arguments and errors are those of :meth:`open`."""
        with self.open(name, most) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def write(
        self, name: str, data: bytes | Callable[[BinaryIO], object], flush: bool = True
    ) -> None:
        """Replace a file: a temporary one is written, flushed to disk, and renamed.

        Args:
            name: of the file.
            data: its contents, or what writes them.
            flush: whether they are to outlive a power failure.

        Raises:
            StorageError: it cannot be written, as on a full disk; an old file is left untouched.
        """
        try:
            folder = self.way(create=True)
            temporary = folder / f".{name}.{secrets.token_hex(8)}.tmp"
            with os.fdopen(os.open(temporary, _NEW, 0o666), "w+b") as file:
                try:
                    file.write(data) if isinstance(data, bytes) else data(file)
                    file.flush()
                    if flush:
                        os.fsync(file.fileno())
                    temporary.replace(folder / name)
                except BaseException:
                    with suppress(OSError):
                        temporary.unlink()
                    raise
            if flush:
                _flush(folder)
        except OSError as error:
            raise StorageError(
                f"{self / name} cannot be written: {error.strerror or error}. Finished runs are "
                f"kept; fix this and run again.",
                full=error.errno in NO_ROOM,
            ) from error

    def copy(self, source: Folder, name: str) -> None:
        """Copy a file of another folder in pieces, so that its size takes no memory.

        Raises:
            StorageError: it cannot be read, or the copy not be written.
        """

        def pieces() -> Iterator[bytes]:
            try:
                with source.open(name) as file:
                    while piece := file.read(1 << 20):
                        yield piece
            except OSError as error:
                why = f"{source / name} cannot be read: {error.strerror}"
                raise StorageError(why) from error

        self.write(name, lambda target: target.writelines(pieces()))

    def remove(self, *names: str) -> None:
        """Remove files and links, and empty folders; what is not there is no matter.

        Raises:
            OSError: one cannot be removed.
        """
        with suppress(FileNotFoundError):
            folder = self.way()
            for path in (folder / name for name in names):
                with suppress(FileNotFoundError):
                    is_folder = stat.S_ISDIR(path.lstat().st_mode)
                    path.rmdir() if is_folder else path.unlink()

    def remove_temporaries(self, names: Iterable[str], age: float = DEAD_SECONDS) -> None:
        """Remove what writers that were killed left of files with these names.

        Nothing else is removed, whatever its name, and no folder. What cannot be removed stays: it
        is never read, and takes room alone.

        Args:
            names: of the files.
            age: least seconds since it was written; 0 for who knows that nobody else writes.
        """
        left = re.compile(rf"\.(?:{'|'.join(map(re.escape, names))})\.[0-9a-f]{{16}}\.tmp")
        with suppress(OSError):
            folder = self.way()
            for name in filter(left.fullmatch, os.listdir(folder)):  # noqa: PTH208
                about = (folder / name).lstat()
                if time.time() - about.st_mtime >= age and not stat.S_ISDIR(about.st_mode):
                    (folder / name).unlink()

    def move(self, target: Folder) -> None:
        """Give it another place below a root on the same file system.

        Raises:
            OSError: there is something, or it cannot be moved.
        """
        old, new = self.parent.way(), target.parent.way(create=True)
        (old / self.name).rename(new / target.name)
        _flush(new)
        _flush(old)


def _make(root: Path) -> None:
    """Create a root, and flush the names of what is created to disk."""
    if not root.is_dir():
        _make(root.parent)
        root.mkdir(exist_ok=True)
        _flush(root.parent)


def _flush(folder: Path) -> None:
    """Flush the names in a folder to disk."""
    descriptor = os.open(folder, _FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_folder(path: str) -> bool:
    """Whether a path is a folder's and no link; raise ``OSError`` where there is nothing."""
    return stat.S_ISDIR(os.lstat(path).st_mode)


def signature(path: Path | str) -> Signature | None:
    """The signature of a regular file; None where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
