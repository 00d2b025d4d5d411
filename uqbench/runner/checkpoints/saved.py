"""The step that an unfinished run resumes from, to tell it."""

from __future__ import annotations

from uqbench.results.records import RunRecord
from uqbench.results.store import Store
from uqbench.runner.checkpoints.files import read_about


def saved_step(record: RunRecord, store: Store) -> int | None:
    """The step of a run's checkpoint; None if it has none.

    The record names the checkpoint and is rewritten now and then only; the checkpoint's own file
    has the step. A damaged one is reported when the run resumes.
    """
    if record.checkpoint is None:
        return None
    about = read_about(store.root / record.checkpoint.folder)
    return record.checkpoint.step if about is None else about.step
