"""Run locks: one process at a time works on a run.

The operating system locks a file in ``<root>/.locks/`` (``flock``), so a lock ends with its
process, however that ends. Where that does not hold, and where several machines share a store, a
lease is needed, too (:class:`Leases`): ``.locks/leases`` says so, and why.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from filelock import BaseFileLock, FileLock, SoftFileLease, Timeout

from uqbench.contract.errors import StorageError
from uqbench.contract.identity import digest_of
from uqbench.results.folders import NO_ROOM, NOT_A_FILE, Folder

_CODE = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(0)
sys.exit(3)
"""


def why_flock_fails(folder: Path) -> str:
    """Why ``flock`` cannot be relied on in a folder; empty if two processes exclude each other.

    Both are on this machine: whether a lock holds between machines is not found out.

    Raises:
        OSError: no file can be written there.
    """
    with tempfile.NamedTemporaryFile(prefix=".lock.", suffix=".tmp", dir=folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return f"flock is not there ({os.strerror(error.errno or 0)})"
        command = [sys.executable, "-I", "-S", "-c", _CODE, file.name]
        code = subprocess.run(command, check=False, capture_output=True).returncode
    if code == 3:
        return "flock does nothing: two processes got the same lock"
    return "" if code == 0 else f"flock fails in a second process (exit code {code})"


LEASE_SECONDS = 60.0
"""After which an untouched lease may be taken over; its holder touches it three times as often."""
LEASE = ".lease"


@contextmanager
def creating(path: Path) -> Iterator[None]:
    """Say of a lock that cannot be made inside that it cannot.

    Raises:
        StorageError: it cannot, as on a full disk.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be locked: {error.strerror}", full=error.errno in NO_ROOM
        ) from error


class Leases:
    """The leases of one store, for file systems whose ``flock`` does not hold: files that expire.

    A lease is a file that its holder touches, as a heartbeat; one that stays untouched for
    ``LEASE_SECONDS`` of the watcher's own clock is a stale lock, and may be taken over
    (``filelock``), so that the clocks of machines do not matter. Nothing stops a holder that was
    suspended meanwhile: it notices, and writes nothing more.
    """

    def __init__(self) -> None:
        self._known: dict[Path, SoftFileLease] = {}

    def acquire(self, path: Path) -> SoftFileLease | None:
        """Take the lease on a path; None while another process has it, or may have it.

        Raises:
            StorageError: it cannot be created, as on a full disk.
        """
        file = path.with_name(path.name + LEASE)
        new = SoftFileLease(file, lease_duration=LEASE_SECONDS, thread_local=False)
        lease = self._known.setdefault(path, new)
        if lease.is_locked:  # by this process
            return None
        with creating(file):
            try:
                lease.acquire(timeout=0)
            except Timeout:
                return None
        return lease

    def is_held(self, path: Path) -> bool:
        """Whether any process has the lease, or may have it.

        Where a machine was lost, that can be told after watching its lease for ``LEASE_SECONDS``.
        """
        if not path.with_name(path.name + LEASE).exists():
            return False
        lease = self.acquire(path)
        if lease is None:
            return True
        lease.release()
        return False

    def is_lost(self, path: Path) -> bool:
        """Whether this process had the lease and another may have it now."""
        return path in self._known and self._known[path].compromise is not None


LOCKS = ".locks"
LEASED = "leases"
SECONDS = 0.05
"""To wait for a lock: another process may hold it for a look alone."""
SHARED = "several machines share this folder"
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Follow no link, and do not hang on a pipe in place of a lock."""


@dataclass(frozen=True)
class RunLock(AbstractContextManager["RunLock"]):
    """A lock on a run, held by this process, until the end of ``with`` or :meth:`release`."""

    path: Path
    flock: BaseFileLock
    lease: SoftFileLease | None = None

    def release(self) -> None:
        """Unlock the run."""
        if self.flock.is_locked:  # it may not be, beside a lease
            self.path.unlink(missing_ok=True)
            self.flock.release()
        if self.lease is not None:
            self.lease.release()

    def __exit__(self, *_error: object) -> None:
        self.release()


class RunLocks:
    """The locks of one store.

    Args:
        root: of the store.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._leases: Leases | None = None
        self._asked = False

    def prepare(self, shared: bool = False) -> str:
        """Find out how runs can be locked here; return why leases are needed, if they are.

        Args:
            shared: whether several machines will lock runs.

        Raises:
            OSError: no file can be written.
            StorageError: the same.
        """
        why = why_flock_fails(self._root) or (SHARED if shared else "")
        folder = Folder(self._root, (LOCKS,))
        if why and not folder.has(LEASED):
            folder.write(LEASED, f"{why}\n".encode())
        self._asked = False
        return why

    def acquire(self, folder: str | PurePosixPath) -> RunLock | None:
        """Lock the run in a folder below the root; None where another process has locked it.

        Raises:
            StorageError: the lock cannot be created, as on a full disk.
        """
        path, lease = self._path(folder), None
        with ExitStack() as unlock:
            with creating(path):
                Folder(self._root, (LOCKS,)).make()
            if self._needed is not None:
                lease = self._needed.acquire(path)
                if lease is None:
                    return None
                unlock.callback(lease.release)
            flock = FileLock(path, SECONDS, poll_interval=0.01, fallback_to_soft=False)
            try:
                with creating(path), suppress(Timeout):
                    flock.acquire()
                if not flock.is_locked:  # by one that perhaps knows nothing of leases
                    return None
            except StorageError as error:
                if lease is None or error.full:
                    raise
            unlock.pop_all()
        return RunLock(path, flock, lease)

    def is_held(self, folder: str | PurePosixPath) -> bool:
        """Whether any process has locked the run, or may have: see :meth:`Leases.is_held`.

        Raises:
            StorageError: the lock cannot be examined.
        """
        path = self._path(folder)
        leases = self._needed
        if leases is not None and leases.is_held(path):
            return True
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
            if leases is None:
                raise StorageError(f"{path} cannot be locked: {error.strerror}") from error
        finally:
            os.close(descriptor)
        return False

    def is_lost(self, folder: str | PurePosixPath) -> bool:
        """Whether this process has locked the run, and another may have taken it over."""
        return self._leases is not None and self._leases.is_lost(self._path(folder))

    @property
    def _needed(self) -> Leases | None:
        """The leases, where they are needed."""
        if not self._asked:
            self._asked = True
            leased = Folder(self._root, (LOCKS,)).has(LEASED)
            self._leases = (self._leases or Leases()) if leased else None
        return self._leases

    def _path(self, folder: str | PurePosixPath) -> Path:
        name = str(folder).encode("utf-8", "backslashreplace").decode()  # it may be no UTF-8
        return self._root / LOCKS / digest_of(name)[:16]
