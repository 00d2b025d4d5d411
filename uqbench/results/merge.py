"""Runs between stores: merged by their digests, or moved to ``<root>/.earlier/<number>``.

Merging overwrites nothing; what conflicts is refused. Finished runs that are made again are moved
to a store of their own. A run keeps its folder below the new root, so that every command reads it:
``--out results/.earlier/1``. Nothing below is ever written to again.
"""

import enum
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import Run
from uqbench.results.folders import Folder
from uqbench.results.record_files import RECORD
from uqbench.results.records import RunRecord, RunState, StoredRun
from uqbench.results.store import Store
from uqbench.results.tables import RESULTS, names

EARLIER = ".earlier"
"""Below it are stores, by number, of runs that were made again by ``uqbench run --rerun``."""


def move_earlier(
    store: Store, runs: Iterable[Run], is_meant: Callable[[StoredRun], bool]
) -> tuple[Path, list[Run]]:
    """Move runs to a store of their own, so that they can be made again.

    Args:
        store: that they are in.
        runs: to move; those that another process has locked stay.
        is_meant: whether a run, once locked, still is what should be moved: another process may
            have made it again.

    Returns:
        The root of the other store, and what was moved.

    Raises:
        StorageError: one cannot be moved; it stays.
    """
    earlier, number = Folder(store.root, (EARLIER,)), 1
    while earlier.has(str(number)):
        number += 1
    root, moved = earlier.below(str(number)), []
    for run in runs:
        if (lock := store.lock(run)) is None:
            continue
        with lock:
            if is_meant(store.find(run)):
                folder, target = store.at(run.place), root.at(run.place)
                try:
                    folder.move(target)
                except OSError as error:
                    why = f"{folder} cannot be moved to {target}: {error.strerror}"
                    raise StorageError(why) from error
                moved.append(run)
    return root.path, moved


ORIGIN = "origin.json"
"""Of a run that was not made in its store: the name of the folder it is from, and its machine."""


class Outcome(enum.Enum):
    """The outcome for a run of a source.

    COPIED: the target lacked it.
    THERE: the target has the same results; the reason names files that it was finished without.
    CONFLICT: the target has other results of the same run; both stay where they are.
    UNFINISHED: not finished in the source: failed, abandoned, or copied while it was running.
    DAMAGED: its files do not match its record, as in a copy made while it was being stored.
    """

    COPIED = "copied"
    THERE = "there already"
    CONFLICT = "conflict"
    UNFINISHED = "unfinished"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Merged:
    """A run of a source, and what became of it.

    Attributes:
        source: folder of the store.
        run: folder of the run, below it.
        reason: empty where it was copied, or is there whole.
    """

    source: Path
    run: PurePosixPath
    outcome: Outcome
    reason: str = ""


def merge(sources: Sequence[Path], target: Path) -> Iterator[Merged]:
    """Copy the finished runs of some stores into another, and yield what became of each.

    Args:
        sources: folders of stores.
        target: folder of the store that is written.

    Raises:
        StorageError: the target cannot be written.
        UqbenchError: a source is no store with runs, or is the target.
    """
    into = Store(target)
    for source in sources:
        if source.resolve() == target.resolve():
            raise UqbenchError(f"{source} is the target itself; name the folder of another store.")
        store, empty = Store(source), True
        for place, stored in store.walk():
            empty = False
            outcome, reason = _merge_run(PurePosixPath(place), stored, store, into)
            yield Merged(source, PurePosixPath(place), outcome, reason)
        if empty:
            raise UqbenchError(f"there are no runs in {source}; expected a folder of results.")


def _merge_run(
    folder: PurePosixPath, stored: StoredRun, store: Store, into: Store
) -> tuple[Outcome, str]:
    if stored.record is None:
        return Outcome.DAMAGED, stored.reason or "its record cannot be read"
    run = _run_of(folder, stored.record)
    if run is None:
        return Outcome.DAMAGED, f"its {RECORD} is of another suite, budget, task or method"
    stored = store.find(run)
    if stored.record is None:
        return Outcome.DAMAGED, stored.reason or stored.state.value
    if stored.record.status == "running":
        runs = stored.state is RunState.RUNNING
        how = "it is running" if runs else "it was running when it was copied"
        return Outcome.UNFINISHED, f"{how}, at step {stored.record.step:,}"
    if stored.state is not RunState.FINISHED:
        return Outcome.UNFINISHED, stored.reason or stored.state.value
    there = into.find(run)
    if there.state in (RunState.DAMAGED, RunState.NEWER):
        return Outcome.CONFLICT, f"{there.state.value} in {into.root}: {there.reason}"
    if there.state is RunState.FINISHED and there.record is not None:
        return _compare(stored.record, there.record, into)
    return _copy(run, stored.record, store, into)


def _run_of(folder: PurePosixPath, record: RunRecord) -> Run | None:
    """The run of a record; None if the folder is another's."""
    identity, (suite, budget, task, method, _) = record.identity, folder.parts
    for part, name in (("suite", suite), ("budget", budget), ("task", task), ("method", method)):
        table = identity.get(part)
        if not isinstance(table, dict) or table.get("name") != name:
            return None
    return Run(suite, budget, task, method, identity["seed"], identity)


def _compare(record: RunRecord, there: RunRecord, into: Store) -> tuple[Outcome, str]:
    """The outcome for a run that the target has, too."""
    if there.digests.get(RESULTS) == record.digests.get(RESULTS):
        only = ", ".join(sorted(record.digests.keys() - there.digests.keys()))
        why = only and f"without {only} there, and a finished run is never altered"
        return Outcome.THERE, why
    one, other = (of.provenance.model_dump() for of in (record, there))
    differing = ", ".join(name for name in one if one[name] != other[name]) or "the same of all"
    return Outcome.CONFLICT, f"other results than in {into.root}; made with other {differing}"


def _copy(run: Run, record: RunRecord, store: Store, into: Store) -> tuple[Outcome, str]:
    if (lock := into.lock(run)) is None:
        return Outcome.CONFLICT, f"a process is working on it in {into.root}"
    with lock:
        source, target = store.at(run.place), into.at(run.place)
        if source.has(ORIGIN):  # of an earlier merge
            target.copy(source, ORIGIN)
        else:
            origin = {"folder": store.root.absolute().name, "host": record.process.host}
            target.write(ORIGIN, json.dumps(origin).encode())
        for name in (*names(record.digests), RECORD):  # the record last: with it, it is finished
            target.copy(source, name)
        if into.find(run).state is not RunState.FINISHED:
            return Outcome.DAMAGED, "it changed while it was copied"
    return Outcome.COPIED, ""
