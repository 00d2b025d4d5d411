"""The step that an unfinished run resumes from, to tell it; read without torch."""

from __future__ import annotations

import json
from contextlib import suppress

from uqbench.results.records import MOST_BYTES, RunRecord
from uqbench.results.store import Store

ABOUT = "checkpoint.json"


def saved_step(record: RunRecord, store: Store) -> int | None:
    """The step of a run's checkpoint; None if it has none.

    The record names the checkpoint and is rewritten now and then only; the checkpoint's own file
    has the step. A damaged one is reported when the run resumes.
    """
    if record.checkpoint is None:
        return None
    with suppress(OSError, ValueError, RecursionError, TypeError, KeyError):
        step = json.loads(store.at(record.checkpoint.folder).read(ABOUT, MOST_BYTES))["step"]
        if type(step) is int and step >= record.checkpoint.step:
            return step
    return record.checkpoint.step
