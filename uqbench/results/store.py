"""The result store: ``<root>/<suite>/<budget>/<task>/<method>/<seed>-<hash8>/``.

Files are written atomically, ``run.json`` last, and a finished run is never overwritten. Only the
process that has locked a run (:mod:`uqbench.results.locks`) writes to its folder, and a run is
running while it is locked. A finished run's files are verified against the digests in its
``run.json``.
"""

import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from uqbench.contract.config import explain
from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import Run, digest_of
from uqbench.results import tables
from uqbench.results.folders import NOT_A_FILE, Folder
from uqbench.results.locks import RunLock, RunLocks
from uqbench.results.record_files import CHECKPOINT, RECORD, cannot_be_read, read_run
from uqbench.results.records import (
    SCHEMA_VERSION,
    TO_DO,
    RunRecord,
    RunState,
    StoredRun,
    now,
    this_process,
)
from uqbench.results.tables import CURVES, EPISODES, METRICS, Columns, RunColumns
from uqbench.results.verified import Verified

__all__ = [
    "CURVES", "EPISODES", "METRICS", "TO_DO", "RunState", "Store", "StoredRun", "now",
    "this_process",
]  # fmt: skip

BOARDS = "leaderboards"
"""Folder of the boards of a store's runs."""
DEPTH = 5
"""Parts of a run's folder: suite, budget, task, method, run."""
NO_SUITES = {BOARDS, "logs"}
TRAINED = (tables.AGENT, tables.TRAINING)
"""Files of a run's training."""
SIGNED = (RECORD, *tables.FILES)
"""Files whose attributes the index holds a verified run by."""


class Store:
    """Runs below one root folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = Folder(root)
        self._locks = RunLocks(root)
        self._verified = Verified(self.top)

    def folder(self, run: Run) -> Path:
        """The path of a run, for messages: :meth:`at` reads and writes there."""
        return self.at(run.place).path

    def at(self, place: str | PurePosixPath) -> Folder:
        """A folder below the root.

        Raises:
            UqbenchError: it would be elsewhere.
        """
        return self.top.at(place)

    def checkpoint_folder(self, run: Run) -> Folder:
        """The folder of the checkpoint of a run and of those that execute with it."""
        return self.at(run.place).below(CHECKPOINT)

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
            self.top.make()
            self.top.remove_temporaries((".speeds.json", "lock"))
            return self._locks.prepare(shared)
        except OSError as error:
            raise UqbenchError(
                f"Results cannot be written to {str(self.root)!r}: {error.strerror}. "
                f"Choose a folder you may write to with --out."
            ) from None

    def read(self, place: str | PurePosixPath) -> StoredRun:
        """The state of a run by its folder below the root, as its record or the index has it."""
        try:
            return self._read(self.at(place))
        except UqbenchError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error))

    def _read(self, folder: Folder, run: Run | None = None, records: bool = True) -> StoredRun:
        if run is None and (known := self._verified.get("/".join(folder.names), records)):
            found = known if records else None
            return StoredRun(RunState.FINISHED, found, provenance=known.provenance)
        stored = read_run(folder, run)
        if stored.state is not RunState.RUNNING:
            return stored
        try:
            if self._locks.is_held("/".join(folder.names)):
                return stored
        except StorageError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error), unreadable=True)
        if stored.record is not None and stored.record.trained:
            return replace(stored, state=RunState.TRAINED, reason="to be judged")
        return replace(stored, state=RunState.ABANDONED, reason="its process is gone")

    def find(self, run: Run, *, records: bool = True) -> StoredRun:
        """The state of a run, with the digests of all its files verified.

        A run whose files are as they were when they were verified last is as it was; call
        :meth:`save_index` after many runs. Files of its training that a finished run does not list
        were left by a process that was killed while it removed them: they are removed.

        Args:
            run: whose files are meant.
            records: whether those of finished runs are asked for, which may be left out.

        Raises:
            UqbenchError: a name of it cannot be that of a folder.
        """
        known = self._verified.get(run.place, records)
        if known is not None and {**known.identity, "seed": run.seed} == run.identity:
            found = known if records else None
            return StoredRun(RunState.FINISHED, found, provenance=known.provenance)
        folder = self.at(run.place)
        files = dict(zip(SIGNED, folder.signatures(*SIGNED), strict=True))
        stored = self._read(folder, run)
        if stored.state is not RunState.FINISHED or stored.record is None:
            return stored
        if damage := _damage(folder, stored.record):
            return damage
        left = [name for name in TRAINED if files[name] and name not in stored.record.digests]
        if left:
            with suppress(OSError, StorageError):  # on a read-only disk they stay, and do no harm
                if (lock := self.lock(run)) is not None:
                    with lock:
                        if [*folder.signatures(*SIGNED)] == [*files.values()]:  # not made again
                            folder.remove(*left)
        self._verified.add(run.place, files, stored.record)
        # what it has in common with others is in memory once
        return replace(stored, record=self._verified.get(run.place) or stored.record)

    def save_index(self) -> None:
        """Keep what verified runs said, for the next command."""
        if self._verified.save():
            self._verified = Verified(self.top)

    def lock(self, run: Run) -> RunLock | None:
        """Lock a run for this process; None where another process has locked it.

        What a killed holder was writing when it died is removed.

        Raises:
            StorageError: the lock cannot be created, as on a full disk.
        """
        lock = self._locks.acquire(run.place)
        if lock is not None:
            self.at(run.place).remove_temporaries((RECORD, *tables.FILES), age=0.0)
        return lock

    def write(self, run: Run, record: RunRecord) -> None:
        """Write a run's record atomically; the time and the run's identity are filled in.

        Raises:
            UqbenchError: the run is finished, and a finished run is immutable; or the record could
                not be read back.
            StorageError: it cannot be written, or the stored record cannot be read.
        """
        folder = self.at(run.place)
        if self._locks.is_lost(run.place):
            raise StorageError(
                f"{run.place}: its lock was taken over by another process, because this one did "
                f"not refresh it for too long; this one writes nothing more."
            )
        stored = read_run(folder)
        if stored.unreadable:
            raise StorageError(f"{folder}: {stored.reason}")
        if stored.state is RunState.FINISHED:
            raise UqbenchError(f"{run.place} is finished; a finished run is never overwritten.")
        own = {
            "schema_version": SCHEMA_VERSION,
            "identity": dict(run.identity),
            "updated": now(),
            "reason": _encodable(record.reason),
            "traceback": _encodable(record.traceback),
        }
        table = record.model_copy(update=own).model_dump(mode="json", exclude={"digest"})
        text = json.dumps(table | {"digest": digest_of(table)}, indent=1, sort_keys=True) + "\n"
        try:
            RunRecord.model_validate_json(text)
        except ValidationError as error:
            raise UqbenchError(f"{run.place} cannot be stored: {explain(error)}") from error
        folder.write(RECORD, text.encode())

    def train(self, run: Run, record: RunRecord, files: Mapping[str, bytes]) -> RunRecord:
        """Write the files of a run's training, then its record with their digests, and return it.

        Raises:
            StorageError: they cannot be written.
        """
        for name, data in files.items():
            self.at(run.place).write(name, data)
        digests = {name: sha256(data).hexdigest() for name, data in files.items()}
        record = record.model_copy(update={"digests": digests})
        self.write(run, record)
        return record

    def finish(self, run: Run, record: RunRecord, columns: RunColumns) -> None:
        """Write a run's data, then its record with their digests.

        The files of its training stay where the record lists them, and are removed where not.

        Raises:
            StorageError: it cannot be written.
        """
        folder = self.at(run.place)
        kept = {name: record.digests[name] for name in TRAINED if name in record.digests}
        digests = kept | tables.write_tables(folder, columns)
        self.write(run, record.model_copy(update={"digests": digests}))
        with suppress(OSError):  # the run is stored; a leftover goes when it is found
            folder.remove(*(name for name in TRAINED if name not in kept))

    def set_aside(self, run: Run) -> Path:
        """Move a damaged run, whose lock this process holds, out of the way, and keep it."""
        folder = self.at(run.place)
        for number in range(1, 1000):
            aside = folder.parent.below(f"{folder.name}.damaged-{number}")
            if not folder.parent.has(aside.name):
                try:
                    folder.move(aside)
                    return aside.path
                except OSError as error:
                    raise UqbenchError(f"{folder} cannot be set aside: {error.strerror}") from error
        raise UqbenchError(f"{run.place}: too many damaged copies; remove some of them.")

    def columns(self, run: Run) -> tuple[Columns, Columns]:
        """A finished run's metrics and episodes.

        Raises:
            UqbenchError: they are damaged: not tables, or not those of the run's record.
            StorageError: they cannot be read, and may be intact.
        """
        return tables.read_tables(self.at(run.place), self._digests(run))

    def table(self, run: Run, name: str) -> Columns | None:
        """One of a finished run's tables, such as :data:`CURVES`; None where it has none.

        Raises:
            UqbenchError: it is damaged.
            StorageError: it cannot be read, and may be intact.
        """
        return tables.read_columns(self.at(run.place), name, self._digests(run))

    def _digests(self, run: Run) -> dict[str, str]:
        record = self.read(run.place).record
        return {} if record is None else record.digests

    def walk(
        self, suite: str | None = None, *, records: bool = True
    ) -> Iterator[tuple[str, StoredRun]]:
        """Every run's folder, relative to the root, and state, as :meth:`read` says it.

        A folder above those of runs that cannot be listed, as of somebody else, or that is a link,
        is damaged: it comes with the reason, and has fewer parts than a run's.

        Args:
            suite: only its runs; all where it is None.
            records: see :meth:`find`.
        """
        return self._below(self.top if suite is None else self.top.below(suite), records)

    def _below(self, folder: Folder, records: bool) -> Iterator[tuple[str, StoredRun]]:
        if len(folder.names) == DEPTH:
            stored = self._read(folder, records=records)
            if stored.state is not RunState.MISSING:
                yield "/".join(folder.names), stored
            return
        try:
            for name, kind in sorted(folder.kinds().items()):
                if name.startswith(".") or kind == "file" or ".damaged-" in name:
                    continue
                if not folder.names and name in NO_SUITES:
                    continue
                place = "/".join((*folder.names, name))
                try:
                    below = folder.below(name)
                except UqbenchError as error:
                    yield place, StoredRun(RunState.DAMAGED, reason=str(error))
                    continue
                if kind == "link":
                    link = OSError(errno.ELOOP, "it is a symbolic link")
                    yield place, cannot_be_read("the folder", link)
                else:
                    yield from self._below(below, records)
        except OSError as error:
            if error.errno not in NOT_A_FILE:  # else another process has removed it
                yield "/".join(folder.names), cannot_be_read("the folder", error)


def _damage(folder: Folder, record: RunRecord) -> StoredRun | None:
    """A finished run of whose files one does not match its digest; None where all do."""
    name = ""
    try:
        for name in tables.names(record.digests):
            if folder.digest(name, tables.MOST_BYTES) != record.digests[name]:
                return StoredRun(RunState.DAMAGED, reason=f"{name} does not match its digest")
    except FileNotFoundError:
        return StoredRun(RunState.DAMAGED, reason=f"{name} is missing")
    except OSError as error:
        return cannot_be_read(name, error)
    except (UqbenchError, ValueError) as error:  # of the names, or of one file
        return StoredRun(RunState.DAMAGED, reason=f"{name}: {error}".removeprefix(": "))
    return None


def _encodable(text: str | None) -> str | None:
    """Text without lone surrogates, as names of files that are not UTF-8 have them."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
