"""Run locks: one process at a time works on a run.

The operating system locks a file in ``<root>/.locks/``, so a lock ends with its process, however
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
from uqbench.results.files import NO_ROOM, NOT_A_FILE

LOCKS = ".locks"
ATTEMPTS = 5
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Follow no link, and do not hang on a pipe in place of a lock."""


@dataclass(frozen=True)
class RunLock:
    """A lock on a run, held by this process."""

    path: Path
    descriptor: int

    def release(self) -> None:
        """Unlock the run."""
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
        """Lock the run in a folder below the root; None where another process has locked it.

        Raises:
            StorageError: the lock cannot be created, as on a full disk.
        """
        path = self._path(folder)
        for _ in range(ATTEMPTS):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o644)
            except OSError as error:
                raise StorageError(
                    f"{path} cannot be created: {error.strerror}", full=error.errno in NO_ROOM
                ) from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.stat().st_ino == os.fstat(descriptor).st_ino:
                    return RunLock(path, descriptor)
            except (BlockingIOError, FileNotFoundError):
                time.sleep(0.01)  # held, perhaps only for a check; or its holder removed the file
            except OSError as error:
                os.close(descriptor)
                raise StorageError(f"{path} cannot be locked: {error.strerror}") from error
            os.close(descriptor)
        return None

    def is_held(self, folder: str | PurePosixPath) -> bool:
        """Whether any process has locked the run.

        Raises:
            StorageError: the lock cannot be examined.
        """
        path = self._path(folder)
        try:
            descriptor = os.open(path, os.O_RDONLY | _FLAGS)
        except OSError as error:
            if error.errno in NOT_A_FILE:
                return False
            raise StorageError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as error:
            raise StorageError(f"{path} cannot be locked: {error.strerror}") from error
        finally:
            os.close(descriptor)
        return False

    def _path(self, folder: str | PurePosixPath) -> Path:
        return self._root / LOCKS / digest_of(str(folder))[:16]
