"""The result store: ``<root>/<suite>/<budget>/<task>/<method>/<seed>-<hash8>/``.

Files are written atomically, ``run.json`` last, and a finished run is never overwritten. Only the
process that has locked a run (:mod:`uqbench.results.locks`) writes to its folder, and a run is
running while it is locked. A finished run's files are verified against the digests in its
``run.json``.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from uqbench.contract.config import explain
from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import Run
from uqbench.results import tables
from uqbench.results.columns import Columns, RunColumns
from uqbench.results.folders import NOT_A_FILE, Folder
from uqbench.results.locks import RunLock, RunLocks
from uqbench.results.record_files import RECORD, DamagedError, NewerError, check_place, read_record
from uqbench.results.records import SCHEMA_VERSION, RunRecord, now, this_process
from uqbench.results.run_cache import RunCache
from uqbench.results.states import TO_DO, RunState, StoredRun
from uqbench.results.tables import CURVES, EPISODES, METRICS

__all__ = [
    "CURVES", "EPISODES", "METRICS", "TO_DO", "RunState", "Store", "StoredRun", "now",
    "this_process",
]  # fmt: skip

CHECKPOINT = "checkpoint"
BOARDS = "leaderboards"
"""Folder of the boards of a store's runs."""
DEPTH = 5
"""Of a run's folder: suite, budget, task, method, run."""
NO_SUITES = {BOARDS, "logs"}


class Store:
    """Runs below one root folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = Folder(root)
        self._locks = RunLocks(root)
        self._cache = RunCache(self.top)

    def folder(self, run: Run) -> Path:
        """Where a run is stored, in words: :meth:`at` reads and writes there."""
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
        """The state of a run by its folder below the root, from its record alone."""
        key = str(place)
        try:
            return self._stored(key, self.at(key))
        except UqbenchError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error))

    def _stored(self, key: str, folder: Folder) -> StoredRun:
        if record := self._cache.read(key, folder):
            return StoredRun(RunState.FINISHED, record)
        [before] = folder.signatures(RECORD)
        stored = self._read(folder)
        if stored.state is RunState.FINISHED and stored.record is not None:
            return StoredRun(RunState.FINISHED, self._cache.add(key, stored.record, before, folder))
        return stored

    def _read(self, folder: Folder) -> StoredRun:
        place = "/".join(folder.names)
        stored = _read(folder)
        if stored.record is None:
            return stored
        try:
            check_place(stored.record, folder)
            _check_checkpoint(stored.record, folder)
            if stored.record.status != "running":
                return stored
            if self._locks.is_held(place):
                return StoredRun(RunState.RUNNING, stored.record)
        except StorageError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error), unreadable=True)
        except DamagedError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error))
        return StoredRun(RunState.ABANDONED, stored.record, "its process is gone")

    def record(self, place: str) -> RunRecord | None:
        """The record of a run by its folder below the root, if it can be read."""
        return self.read(place).record

    def find(self, run: Run) -> StoredRun:
        """The state of a run, with the digests of all its files verified."""
        [stored] = self.find_all([run])
        return stored

    def find_all(self, runs: Sequence[Run]) -> Iterator[StoredRun]:
        """The same of each of many; the folder of those that follow one another is opened once.

        Raises:
            UqbenchError: a name of one of them cannot be that of a folder.
        """
        for run, above in zip(runs, self.above(run.place for run in runs), strict=True):
            first = self._cache.verified(run.place, run.digest, above)
            yield self._known(run, first) if first else self._find(run, above)

    def above(self, places: Iterable[str]) -> Iterator[Folder]:
        """The folder that each run's is in, held while the runs of one follow one another."""
        for cell, own in groupby(places, lambda place: place.rpartition("/")[0]):
            with ExitStack() as stack:
                above = self.at(cell)
                with suppress(OSError):  # what is read there says what is wrong
                    above = stack.enter_context(above.held())
                for _ in own:
                    yield above

    def _find(self, run: Run, above: Folder) -> StoredRun:
        folder = above.below(run.folder.name)
        stored = self._stored(run.place, folder)
        if stored.state is not RunState.FINISHED or stored.record is None:
            return stored
        if stored.record.identity != run.identity:
            return StoredRun(RunState.DAMAGED, reason=f"{RECORD} has another identity")
        try:
            listed = tables.names(stored.record.digests)
        except UqbenchError as error:
            return StoredRun(RunState.DAMAGED, reason=str(error))
        digests = stored.record.digests
        before = dict(zip(listed, folder.signatures(*listed), strict=True))
        for name in listed:
            try:
                digest = folder.digest(name, tables.MOST_BYTES)
            except FileNotFoundError:
                return StoredRun(RunState.DAMAGED, reason=f"{name} is missing")
            except OSError as error:
                return _unreadable(name, error)
            except ValueError as error:
                return StoredRun(RunState.DAMAGED, reason=f"{name}: {error}")
            if digest != digests[name]:
                return StoredRun(RunState.DAMAGED, reason=f"{name} does not match its digest")
        self._cache.verify(run.place, before, folder)
        return self._known(run, stored.record)

    def _known(self, run: Run, shared: RunRecord) -> StoredRun:
        """A finished run, whose record is made when it is asked for: of many, few are."""
        return StoredRun(
            RunState.FINISHED, partial(self._remembered, run.place), _provenance=shared.provenance
        )

    def _remembered(self, place: str) -> RunRecord | None:
        return self._cache.record(place) or self.record(place)

    def save_cache(self) -> None:
        """Keep what was read of many finished runs, for the next command."""
        self._cache.save()

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
        stored = _read(folder)
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
        sealed = record.model_copy(update=own).sealed()
        text = json.dumps(sealed.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
        try:
            RunRecord.model_validate_json(text)
        except ValidationError as error:
            raise UqbenchError(f"{run.place} cannot be stored: {explain(error)}") from error
        folder.write(RECORD, text.encode())

    def finish(self, run: Run, record: RunRecord, columns: RunColumns) -> None:
        """Write a run's data, then its record with their digests.

        Raises:
            StorageError: it cannot be written.
        """
        digests = tables.write_tables(self.at(run.place), columns)
        self.write(run, record.model_copy(update={"digests": digests}))

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
        record = self.record(run.place)
        return {} if record is None else record.digests

    def has_runs(self) -> bool:
        """Whether there is the record of a run, read or not."""
        below = _below(self.top, DEPTH)
        return any(
            error is None and above.below(place.rpartition("/")[2]).has(RECORD)
            for above, place, error in below
        )

    def records(self, suite: str | None = None) -> Iterator[tuple[PurePosixPath, StoredRun]]:
        """The same as :meth:`states` with paths."""
        return ((PurePosixPath(place), stored) for place, stored in self.states(suite))

    def states(self, suite: str | None = None) -> Iterator[tuple[str, StoredRun]]:
        """Every run's folder, relative to the root, and state, read from ``run.json`` alone.

        A folder above those of runs that cannot be listed, as of somebody else, or that is a link,
        is damaged: it comes with the reason, and has fewer parts than a run's.

        Args:
            suite: only its runs; all where it is None.
        """
        top = self.top if suite is None else self.top.below(suite)
        for above, place, error in _below(top, DEPTH - len(top.names)):
            name = place.rpartition("/")[2]
            if error is not None:
                yield place, _unreadable("the folder", error)
                continue
            if self._cache.is_finished(place, above, f"{name}/{RECORD}"):
                yield place, StoredRun(RunState.FINISHED, partial(self.record, place))
            elif (stored := self._stored(place, above.below(name))).state is not RunState.MISSING:
                yield place, stored
        self.save_cache()


def _below(folder: Folder, depth: int) -> Iterator[tuple[Folder, str, OSError | None]]:
    """The folders some levels below one, sorted; those that cannot be listed with the error.

    Each comes as the folder that it is in, which is held meanwhile, and its place below the root.
    """
    try:
        with folder.held() as opened:
            for name, kind in sorted(opened.kinds().items()):
                if name.startswith(".") or kind == "file" or ".damaged-" in name:
                    continue
                if not folder.names and name in NO_SUITES:
                    continue
                below = (*folder.names, name)
                if kind == "link":
                    yield opened, "/".join(below), OSError(errno.ELOOP, "it is a symbolic link")
                elif depth > 1:
                    yield from _below(Folder(folder.root, below, opened._held), depth - 1)
                else:
                    yield opened, "/".join(below), None
    except OSError as error:
        if error.errno not in NOT_A_FILE:  # else another process has removed it
            yield folder, "/".join(folder.names), error


def _read(folder: Folder) -> StoredRun:
    """A run's record and its state, damaged or not."""
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


def _check_checkpoint(record: RunRecord, folder: Folder) -> None:
    """Check that the checkpoint belongs to this cell and is named as uqbench names it.

    A record from elsewhere may name any folder.
    """
    if record.checkpoint is None:
        return
    named, cell = record.checkpoint.folder, "/".join(folder.names[:-1])
    if not re.fullmatch(rf"{re.escape(cell)}/[0-9]+-[0-9a-f]{{8}}/{CHECKPOINT}", named):
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
