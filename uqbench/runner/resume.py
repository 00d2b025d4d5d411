"""Unfinished runs: their records, and the checkpoint from which a batch of them resumes.

That is the one that the runs name, if it fits them.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import Run
from uqbench.registry.registry import Plugin
from uqbench.results.folders import Folder
from uqbench.results.provenance import provenance
from uqbench.results.records import Provenance, RunRecord
from uqbench.results.store import RunState, Store, now, this_process
from uqbench.runner.batches import Batch
from uqbench.runner.checkpoints import Checkpoint, UnusableError, read, read_about, remove
from uqbench.runner.device import MKL
from uqbench.runner.events import Failed

if TYPE_CHECKING:  # it takes seconds, and most who write records do not compute
    import torch


@dataclass(frozen=True)
class ResumePoint:
    """A checkpoint to resume from.

    Attributes:
        folder: of the checkpoint.
        about: what it belongs to.
        lanes: the runs that it holds: all of them resume together, wanted or not, since a state
            cannot be divided.
    """

    folder: Folder
    about: Checkpoint
    lanes: tuple[Run, ...]


def named_in(folders: Iterable[PurePosixPath], store: Store) -> set[Folder | None]:
    """The checkpoints that the runs in some folders name, with None for one that names none.

    Raises:
        StorageError: what one names cannot be read.
    """
    named: set[Folder | None] = set()
    for folder in folders:
        stored = store.read(folder)
        if stored.unreadable:
            raise StorageError(f"{store.root / folder}: {stored.reason}")
        saved = None if stored.record is None else stored.record.checkpoint
        named.add(None if saved is None else store.at(saved.folder))
    return named


def find_resume_point(
    runs: Sequence[Run], store: Store, provenance: Provenance
) -> ResumePoint | None:
    """The resume point of some runs of one batch, or None if they have no checkpoint.

    Raises:
        UnusableError: there is one, and it is damaged or does not fit.
        StorageError: it cannot be read, and may be intact.
    """
    folders = named_in((run.folder for run in runs), store)
    if folders == {None}:
        return None
    if len(folders) > 1:
        raise UnusableError("the runs do not share one checkpoint")
    folder = folders.pop()
    assert folder is not None
    about = read(folder)
    of_tasks = {run.task: run for run in runs}.values()
    known = {
        (lane := replace(run, seed=k, identity={**run.identity, "seed": k}, known_digest=None))
        .digest: lane
        for run in of_tasks
        for k in set(about.seeds)
    }  # fmt: skip
    lanes = tuple(known[digest] for digest in about.runs if digest in known)
    if len(lanes) < len(about.runs) or not set(runs) <= set(lanes):
        raise UnusableError(f"{folder} belongs to other runs")
    for kind in ("versions", "content"):
        before, here = getattr(about.provenance, kind), getattr(provenance, kind)
        other = [name for name in sorted({*before, *here}) if before.get(name) != here.get(name)]
        if other:
            raise UnusableError(f"{folder} was made with other {kind} of {', '.join(other)}")
    return ResumePoint(folder, about, lanes)


def saved_step(record: RunRecord, store: Store) -> int | None:
    """The step that an unfinished run resumes from, to tell it; None if it has no checkpoint.

    The record names the checkpoint and is rewritten now and then only; the checkpoint's own file
    has the step. A damaged one is reported when the run resumes.
    """
    if record.checkpoint is None:
        return None
    with suppress(OSError, ValueError, RecursionError):
        return max(read_about(store.at(record.checkpoint.folder)).step, record.checkpoint.step)
    return record.checkpoint.step


def tidy(folder: Folder, store: Store, lanes: Iterable[Run] | None = None) -> None:
    """Remove a checkpoint that no run names anymore.

    Args:
        folder: of the checkpoint.
        store: where the runs are kept.
        lanes: the runs that it holds; None if unknown: any run of the cell may name it.

    Raises:
        StorageError: what the runs name cannot be read.
    """
    runs = _in_cell(folder) if lanes is None else (run.folder for run in lanes)
    if folder not in named_in(runs, store):
        remove(folder)


def _in_cell(folder: Folder) -> Iterator[PurePosixPath]:
    """The folders of the runs of the cell that a checkpoint lies in."""
    cell = folder.parent.parent
    for name, kind in cell.kinds().items():
        if kind == "folder" and ".damaged-" not in name:
            yield PurePosixPath(*cell.names) / name


def blank_record(plugins: Sequence[Plugin], device: str) -> RunRecord:
    """A record that begins now, in this process."""
    return RunRecord(
        identity={},
        status="running",
        step=0,
        began=now(),
        updated=now(),
        process=this_process(),
        provenance=provenance(plugins, device),
    )


def device_name(device: torch.device) -> str:
    """The name of the device that computes."""
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    from uqbench.lanes.execution import library  # it imports torch

    processor = platform.processor() or platform.machine()
    branch = os.environ.get(MKL, "not pinned")
    return f"{processor}, numpy {np.__version__}, actors' products {library()}, MKL {branch}"


def failed(
    batch: Batch, store: Store, reason: str, trace: str | None = None, full: bool = False
) -> Failed:
    """Mark the runs of a batch that did not finish as failed, with the reason.

    On a full disk, or one that fails, they stay abandoned.
    """
    with suppress(UqbenchError):
        for run in batch.runs:
            _rewrite(run, store, status="failed", reason=reason, traceback=trace)
    return Failed(batch, reason, full)


def forget_checkpoint(batch: Batch, store: Store) -> None:
    """Make the runs of a batch start over: a checkpoint of several lanes cannot be divided.

    Raises:
        StorageError: it cannot be written, as on a full disk.
    """
    named = set()
    for run in batch.runs:
        record = store.read(run.folder).record
        if record is not None and record.checkpoint is not None:
            named.add(store.at(record.checkpoint.folder))
            _rewrite(run, store, checkpoint=None)
    for folder in named:
        with suppress(StorageError):  # another run may name it: it stays
            tidy(folder, store)


def _rewrite(run: Run, store: Store, **update: object) -> None:
    """Update a run's record, unless it is finished, damaged, or locked by another process."""
    if (lock := store.lock(run)) is None:
        return
    with lock:
        stored = store.find(run)
        if stored.state not in (RunState.FINISHED, RunState.DAMAGED, RunState.NEWER):
            record: RunRecord = stored.record or blank_record((), "unknown")
            store.write(run, record.model_copy(update=update))
