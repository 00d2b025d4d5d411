"""Records of unfinished runs: the one that they begin with, and failures."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import Run
from uqbench.registry.registry import Plugin
from uqbench.results.provenance import provenance
from uqbench.results.records import RunRecord
from uqbench.results.store import RunState, Store, now, this_process
from uqbench.runner import mkl
from uqbench.runner.batches import Batch
from uqbench.runner.events import Failed
from uqbench.runner.resume import tidy

if TYPE_CHECKING:  # it takes seconds, and most who write records do not compute
    import torch


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
    processor = platform.processor() or platform.machine()
    return f"{processor}, numpy {np.__version__}, {mkl.in_words()}"


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
            store.write(run, record.model_copy(update=update))
    finally:
        lock.release()
