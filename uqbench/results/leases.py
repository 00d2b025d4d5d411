"""Locks for file systems whose ``flock`` does not hold: files that expire.

A lease is a file that its holder touches, as a heartbeat; one that stays untouched for ``SECONDS``
of the watcher's own clock is a stale lock, and may be taken over (``filelock``), so that the clocks
of machines do not matter. Nothing stops a holder that was suspended meanwhile: it notices, and
writes nothing more.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import SoftFileLease, Timeout

from uqbench.contract.errors import StorageError
from uqbench.results.folders import NO_ROOM

SECONDS = 60.0
"""After which an untouched lease may be taken over; its holder touches it three times as often."""
ENDING = ".lease"


@contextmanager
def creating(path: Path) -> Iterator[None]:
    """Say of a lock that cannot be created inside that it cannot.

    Raises:
        StorageError: it cannot, as on a full disk.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be created: {error.strerror}", full=error.errno in NO_ROOM
        ) from error


class Leases:
    """The leases of one store; remembers what it saw of those of others."""

    def __init__(self) -> None:
        self._known: dict[Path, SoftFileLease] = {}

    def acquire(self, path: Path) -> SoftFileLease | None:
        """Take the lease on a path; None while another process has it, or may have it.

        Raises:
            StorageError: it cannot be created, as on a full disk.
        """
        file = path.with_name(path.name + ENDING)
        new = SoftFileLease(file, lease_duration=SECONDS, thread_local=False)
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

        Where a machine was lost, that can be told after watching its lease for ``SECONDS``.
        """
        if not path.with_name(path.name + ENDING).exists():
            return False
        lease = self.acquire(path)
        if lease is None:
            return True
        lease.release()
        return False

    def is_lost(self, path: Path) -> bool:
        """Whether this process had the lease and another may have it now."""
        return path in self._known and self._known[path].compromise is not None
