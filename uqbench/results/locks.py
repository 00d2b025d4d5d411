"""Locks on runs: one process works on a run at a time.

A lock is the operating system's, on a file in ``<root>/.locks/``: it ends with the process, however
that ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from uqbench.errors import StorageError
from uqbench.identity import digest_of
from uqbench.results.files import NO_ROOM

LOCKS = ".locks"
ATTEMPTS = 5


@dataclass(frozen=True)
class RunLock:
    """The right to work on a run."""

    path: Path
    descriptor: int

    def release(self) -> None:
        """Let other processes have the run."""
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


class RunLocks:
    """The locks of one store.

    Args:
        root: of the store.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def acquire(self, folder: str | PurePosixPath) -> RunLock | None:
        """Lock a run by its folder below the root; None where another process has it.

        Raises:
            StorageError: the lock cannot be made, as on a full disk.
        """
        path = self._path(folder)
        for _ in range(ATTEMPTS):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise StorageError(
                    f"{path} cannot be made: {error.strerror}", full=error.errno in NO_ROOM
                ) from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.stat().st_ino == os.fstat(descriptor).st_ino:
                    return RunLock(path, descriptor)
            except (BlockingIOError, FileNotFoundError):
                time.sleep(0.01)  # held, perhaps only to look at it; or its holder removed the file
            os.close(descriptor)
        return None

    def is_held(self, folder: str | PurePosixPath) -> bool:
        """Whether any process has locked the run."""
        try:
            descriptor = os.open(self._path(folder), os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _path(self, folder: str | PurePosixPath) -> Path:
        return self._root / LOCKS / digest_of(str(folder))[:16]
