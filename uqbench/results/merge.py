"""Merging stores by the digest of each run: nothing is overwritten, what conflicts is refused."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import Run
from uqbench.results.record_files import RECORD
from uqbench.results.records import RunRecord
from uqbench.results.states import RunState
from uqbench.results.store import Store
from uqbench.results.tables import RESULTS, names

ORIGIN = "origin.json"
"""Of a run that was not made in its store: the name of the folder it is from, and its machine."""


class Outcome(enum.Enum):
    """What becomes of a run of a source.

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


def merge(sources: Sequence[Path], target: Path, dry_run: bool = False) -> Iterator[Merged]:
    """Copy the finished runs of some stores into another, and yield what became of each.

    Args:
        sources: folders of stores.
        target: folder of the store that is written.
        dry_run: write nothing. A run that two sources have with other results is a conflict then,
            too.

    Raises:
        StorageError: the target cannot be written.
        UqbenchError: a source is no store with runs, or is the target.
    """
    into = Store(target)
    would: dict[Run, RunRecord] = {}
    for source in sources:
        if source.resolve() == target.resolve():
            raise UqbenchError(f"{source} is the target itself; name another folder with --into.")
        store, empty = Store(source), True
        for folder, stored in store.records():
            empty = False
            outcome, reason, run = _judge(folder, stored.record, stored.reason, store)
            if run is not None and stored.record is not None:
                known = would.get(run) if dry_run else None
                outcome, reason = _add(run, stored.record, store, into, known, dry_run)
                if outcome is Outcome.COPIED:
                    would[run] = stored.record
            yield Merged(source, folder, outcome, reason)
        if empty:
            raise UqbenchError(f"there are no runs in {source}; expected a folder of results.")


def _judge(
    folder: PurePosixPath, record: RunRecord | None, reason: str | None, store: Store
) -> tuple[Outcome, str, Run | None]:
    """The run of a source if it is finished and whole; else why it is left."""
    if record is None:
        return Outcome.DAMAGED, reason or "its record cannot be read", None
    run = _run_of(folder, record)
    if run is None:
        return Outcome.DAMAGED, f"its {RECORD} is of another suite, budget, task or method", None
    stored = store.find(run)
    if stored.state is RunState.FINISHED:
        return Outcome.COPIED, "", run
    if stored.state in (RunState.DAMAGED, RunState.NEWER):
        return Outcome.DAMAGED, stored.reason or stored.state.value, None
    if record.status == "running":
        runs = stored.state is RunState.RUNNING
        how = "it is running" if runs else "it was running when it was copied"
        return Outcome.UNFINISHED, f"{how}, at step {record.step:,}", None
    return Outcome.UNFINISHED, stored.reason or stored.state.value, None


def _run_of(folder: PurePosixPath, record: RunRecord) -> Run | None:
    """The run of a record; None if the folder is another's."""
    identity, (suite, budget, task, method, _) = record.identity, folder.parts
    for part, name in (("suite", suite), ("budget", budget), ("task", task), ("method", method)):
        table = identity.get(part)
        if not isinstance(table, dict) or table.get("name") != name:
            return None
    run = Run(suite, budget, task, method, identity["seed"], identity)
    return run if run.folder == folder else None


def _add(
    run: Run, record: RunRecord, store: Store, into: Store, known: RunRecord | None, dry_run: bool
) -> tuple[Outcome, str]:
    there = known
    if there is None:
        stored = into.find(run)
        if stored.state is RunState.DAMAGED:
            return Outcome.CONFLICT, f"damaged in {into.root}: {stored.reason}; run it again there"
        if stored.state is RunState.RUNNING:
            return Outcome.CONFLICT, f"a process is working on it in {into.root}"
        there = stored.record if stored.state is RunState.FINISHED else None
    if there is not None:
        if there.digests.get(RESULTS) == record.digests.get(RESULTS):
            only = ", ".join(sorted(record.digests.keys() - there.digests.keys()))
            return (
                Outcome.THERE,
                only and f"without {only} there, and a finished run is never altered",
            )
        return Outcome.CONFLICT, f"other results than in {into.root}: {_difference(record, there)}"
    if not dry_run:
        return _copy(run, record, store, into)
    return Outcome.COPIED, ""


def _copy(run: Run, record: RunRecord, store: Store, into: Store) -> tuple[Outcome, str]:
    lock = into.lock(run)
    if lock is None:
        return Outcome.CONFLICT, f"a process is working on it in {into.root}"
    try:
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
    finally:
        lock.release()
    return Outcome.COPIED, ""


def _difference(record: RunRecord, other: RunRecord) -> str:
    """How two runs of one identity were made differently."""
    one, there = record.provenance, other.provenance
    differences = []
    for kind in ("versions", "content"):
        a, b = getattr(one, kind), getattr(there, kind)
        differing = [name for name in sorted({*a, *b}) if a.get(name) != b.get(name)]
        if differing:
            differences.append(f"made with other {kind} of {', '.join(differing)}")
    differences += [
        f"made on {getattr(one, key)}, there on {getattr(there, key)}"
        for key in ("platform", "device")
        if getattr(one, key) != getattr(there, key)
    ]
    same = "both were made with the same versions on the same kind of machine"
    return "; ".join(differences) or same
