"""The result store: ``<root>/<suite>/<budget>/<task>/<method>/<seed>-<hash8>/``.

Files are written atomically, ``run.json`` last, and a finished run is never overwritten. Only the
process that has locked a run (:mod:`uqbench.results.locks`) writes to its folder, and a run is
running while it is locked. A finished run's files are verified against the digests in its
``run.json``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from uqbench.config import explain
from uqbench.errors import StorageError, UqbenchError
from uqbench.identity import Run
from uqbench.results.columns import Columns, RunColumns
from uqbench.results.files import (
    NOT_A_FILE,
    create,
    file_digest,
    flush_names,
    is_linked,
    make_folder,
    remove_temporaries,
    write_data,
)
from uqbench.results.listing import run_folders
from uqbench.results.locks import RunLock, RunLocks
from uqbench.results.paths import run_folder
from uqbench.results.record_files import (
    RECORD,
    DamagedError,
    NewerError,
    check_place,
    read_record,
)
from uqbench.results.records import RunRecord, now, this_process
from uqbench.results.run_cache import RunCache, signature
from uqbench.results.states import TO_DO, RunState, StoredRun
from uqbench.results.tables import (
    CURVES,
    EPISODES,
    FILES,
    METRICS,
    MOST_BYTES,
    names,
    read_tables,
    write_tables,
)

__all__ = [
    "CURVES", "EPISODES", "METRICS", "TO_DO", "RunState", "Store", "StoredRun", "now",
    "this_process",
]  # fmt: skip

CHECKPOINT = "checkpoint"
MANY = 100
"""Runs that a command reads before it consults the cache: few are read as fast without."""


class Store:
    """Runs below one root folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._locks = RunLocks(root)
        self._base = f"{root}{os.sep}"
        self._cache: RunCache | None = None
        self._asked = 0

    def folder(self, run: Run) -> Path:
        """Where a run is kept."""
        return run_folder(self.root, run.folder)

    def checkpoint_folder(self, run: Run) -> Path:
        """The folder of the checkpoint of a run and of those that execute with it."""
        return self.folder(run) / CHECKPOINT

    def is_linked(self, path: Path) -> bool:
        """Whether a path leaves the root, or a symbolic link lies between them."""
        return is_linked(self.root, path)

    def prepare(self, shared: bool = False) -> str:
        """Create the root, write to it once, and try whether two processes can lock a file.

        Args:
            shared: whether several machines will lock runs.

        Returns:
            Why runs are locked by leases, if they are, for the user.

        Raises:
            UqbenchError: it cannot be written; raised before the first step.
        """
        try:
            make_folder(self.root)
            file, probe = create(self.root, "probe")
            try:
                with file:
                    file.write(b"uqbench")
            finally:
                probe.unlink()
            return self._locks.prepare(shared)
        except OSError as error:
            raise UqbenchError(
                f"Results cannot be written to {str(self.root)!r}: {error.strerror}. "
                f"Choose a folder you may write to with --out."
            ) from None

    def read(self, folder: str | PurePosixPath) -> StoredRun:
        """The state of a run by its folder below the root, from its record alone."""
        key = str(folder)
        cache = self._consulted()
        if cache is None:
            return self._read(key)
        record = cache.read(key)
        if record is not None:
            return StoredRun(RunState.FINISHED, record)
        before = signature(f"{self._base}{key}/{RECORD}")
        stored = self._read(key)
        if stored.state is RunState.FINISHED and stored.record is not None:
            return replace(stored, record=cache.add(key, stored.record, before))
        return stored

    def _read(self, key: str) -> StoredRun:
        folder = PurePosixPath(key)
        try:
            stored = _read(run_folder(self.root, folder))
            if stored.record is not None:
                check_place(stored.record, folder)
                _check_checkpoint(stored.record, folder)
            if stored.record is None or stored.record.status != "running":
                return stored
            if self._locks.is_held(folder):
                return StoredRun(RunState.RUNNING, stored.record)
        except StorageError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error), unreadable=True)
        except (DamagedError, UqbenchError) as error:
            return StoredRun(RunState.DAMAGED, reason=str(error))
        return StoredRun(RunState.ABANDONED, stored.record, "its process is gone")

    def find(self, run: Run) -> StoredRun:
        """The state of a run, with the digests of all its files verified."""
        key = run.place
        stored = self.read(key)
        if stored.state is not RunState.FINISHED or stored.record is None:
            return stored
        if stored.record.identity != run.identity:
            return StoredRun(RunState.DAMAGED, reason=f"{RECORD} has another identity")
        cache, before = self._cache, {}
        try:
            listed = names(stored.record.digests)
        except UqbenchError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error))
        for name in listed:
            if cache is not None and cache.is_verified(key, name):
                continue
            before[name] = signature(f"{self._base}{key}/{name}")
            try:
                digest = file_digest(self.folder(run) / name, MOST_BYTES)
            except FileNotFoundError:
                return StoredRun(RunState.DAMAGED, reason=f"{name} is missing")
            except OSError as error:
                return _unreadable(name, error)
            except ValueError as error:
                return StoredRun(RunState.DAMAGED, reason=f"{name}: {error}")
            if digest != stored.record.digests[name]:
                return StoredRun(RunState.DAMAGED, reason=f"{name} does not match its digest")
        if cache is not None and before:
            cache.verify(key, before)
        return stored

    def save_cache(self) -> None:
        """Keep what was read of many finished runs, for the next command."""
        if self._cache is not None:
            self._cache.save()

    def _consulted(self) -> RunCache | None:
        """The cache, once many runs were asked for."""
        self._asked += 1
        if self._cache is None and self._asked > MANY:
            self._cache = RunCache(self.root)
        return self._cache

    def lock(self, run: Run) -> RunLock | None:
        """Lock a run for this process; None where another process has locked it.

        What a killed holder was writing when it died is removed.

        Raises:
            StorageError: the lock cannot be created, as on a full disk.
        """
        lock, folder = self._locks.acquire(run.folder), self.folder(run)
        if lock is not None and not self.is_linked(folder):
            remove_temporaries(folder, (RECORD, *FILES))
        return lock

    def write(self, run: Run, record: RunRecord) -> None:
        """Write a run's record atomically.

        Raises:
            UqbenchError: the run is finished, and a finished run is immutable; or the record could
                not be read back.
            StorageError: it cannot be written, or the stored record cannot be read.
        """
        folder = self.folder(run)
        if self._locks.is_lost(run.folder):
            raise StorageError(
                f"{run.folder}: its lock was taken over by another process, because this one did "
                f"not refresh it for too long; this one writes nothing more."
            )
        stored = _read(folder)
        if stored.unreadable:
            raise StorageError(f"{folder}: {stored.reason}")
        if stored.state is RunState.FINISHED:
            raise UqbenchError(f"{run.folder} is finished; a finished run is never overwritten.")
        texts = {
            "reason": _encodable(record.reason),
            "traceback": _encodable(record.traceback),
        }
        sealed = record.model_copy(update=texts).sealed()
        text = json.dumps(sealed.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
        try:
            RunRecord.model_validate_json(text)
        except ValidationError as error:
            raise UqbenchError(f"{run.folder} cannot be stored: {explain(error)}") from error
        write_data(folder / RECORD, text.encode())

    def finish(self, run: Run, record: RunRecord, columns: RunColumns) -> None:
        """Write a run's data, then its record with their digests.

        Raises:
            StorageError: it cannot be written.
        """
        digests = write_tables(self.folder(run), columns)
        self.write(run, record.model_copy(update={"digests": digests}))

    def set_aside(self, run: Run) -> Path:
        """Move a damaged run, whose lock this process holds, out of the way, and keep it."""
        folder = self.folder(run)
        for number in range(1, 1000):
            aside = folder.with_name(f"{folder.name}.damaged-{number}")
            if not os.path.lexists(aside):
                try:
                    folder.rename(aside)
                    flush_names(folder.parent)
                    return aside
                except OSError as error:
                    raise UqbenchError(f"{folder} cannot be set aside: {error.strerror}") from error
        raise UqbenchError(f"{run.folder}: too many damaged copies; remove some of them.")

    def columns(self, run: Run) -> tuple[Columns, Columns]:
        """A finished run's metrics and episodes.

        Raises:
            UqbenchError: they are damaged: not tables, or not those of the run's record.
            StorageError: they cannot be read, and may be intact.
        """
        record = self.read(run.folder).record
        return read_tables(self.folder(run), {} if record is None else record.digests)

    def records(self, suite: str | None = None) -> Iterator[tuple[PurePosixPath, StoredRun]]:
        """Every run's folder, relative to the root, and state, read from ``run.json`` alone.

        A folder above those of runs that cannot be listed, as of somebody else, is damaged: it
        comes with the reason, and has fewer parts than a run's.

        Args:
            suite: only its runs; all where it is None.
        """
        folders = dict(run_folders(self.root, suite))
        for folder, error in folders.items():
            stored = self.read(folder) if error is None else _unreadable("the folder", error)
            if stored.state is not RunState.MISSING:
                yield PurePosixPath(folder), stored
        if self._cache is not None:
            if suite is None:
                self._cache.keep(folders)
            self._cache.save()


def _read(folder: Path) -> StoredRun:
    """A run's record and its state, damaged or not."""
    if folder.is_symlink():
        return StoredRun(RunState.DAMAGED, reason="its folder is a symbolic link")
    try:
        record = read_record(folder)
    except FileNotFoundError:
        return StoredRun(RunState.MISSING)
    except OSError as error:
        return _unreadable(RECORD, error)
    except NewerError as error:
        return StoredRun(RunState.NEWER, reason=str(error))
    except DamagedError as error:
        return StoredRun(RunState.DAMAGED, reason=str(error))
    return StoredRun(RunState(record.status), record, record.reason)


def _check_checkpoint(record: RunRecord, folder: PurePosixPath) -> None:
    """Check that the checkpoint belongs to this cell and is named as uqbench names it.

    A record from elsewhere may name any folder.
    """
    if record.checkpoint is None:
        return
    named, cell = record.checkpoint.folder, folder.parent
    if not re.fullmatch(rf"{re.escape(str(cell))}/[0-9]+-[0-9a-f]{{8}}/{CHECKPOINT}", named):
        raise DamagedError(
            f"{RECORD} names the checkpoint {named!r}; expected "
            f"{cell}/<seed>-<8 hex digits>/{CHECKPOINT}"
        )


def _encodable(text: str | None) -> str | None:
    """Text without lone surrogates, as names of files that are not UTF-8 have them."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unreadable(name: str, error: OSError) -> StoredRun:
    reason = f"{name} cannot be read: {error.strerror}"
    return StoredRun(RunState.DAMAGED, reason=reason, unreadable=error.errno not in NOT_A_FILE)
