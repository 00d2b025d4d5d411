"""What a process writes about runs that another one was working on."""

from __future__ import annotations

from contextlib import suppress

from uqbench.errors import StorageError, UqbenchError
from uqbench.identity import Run
from uqbench.results.records import RunRecord
from uqbench.results.store import RunState, Store
from uqbench.runner.batching.batches import Batch
from uqbench.runner.checkpoints.resume import tidy
from uqbench.runner.events import Failed
from uqbench.runner.run_records import blank_record, write_record


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
    lock = store.lock(run)
    if lock is None:
        return
    try:
        stored = store.find(run)
        if stored.state not in (RunState.FINISHED, RunState.DAMAGED, RunState.NEWER):
            record: RunRecord = stored.record or blank_record((), "unknown")
            write_record(store, run, record, update)
    finally:
        lock.release()
