"""The states that a stored run may be in."""

import enum
from dataclasses import dataclass, field

from uqbench.results.records import Provenance, RunRecord


class RunState(enum.Enum):
    """A run's state, and what ``uqbench run`` does with it.

    MISSING: nothing stored; run it.
    RUNNING: another live process works on it; leave it.
    ABANDONED: the process that worked on it is gone; resume from its checkpoint, or start over.
    FAILED: it ended with an error, or its worker died; resume from its checkpoint if there is one
        (an error removes it, the death of a worker does not), or start over.
    FINISHED: stored and complete; never run again.
    DAMAGED: stored, but a file is missing or its digest differs; set aside and run again.
    NEWER: stored by a newer uqbench; left alone, and the command is refused.
    """

    MISSING = "missing"
    RUNNING = "running"
    ABANDONED = "abandoned"
    FAILED = "failed"
    FINISHED = "finished"
    DAMAGED = "damaged"
    NEWER = "newer"

    @property
    def said(self) -> str:
        """As it is told; manifests of boards count by the values, which stay as they are."""
        return "interrupted" if self is RunState.ABANDONED else self.value


TO_DO = (RunState.MISSING, RunState.ABANDONED, RunState.FAILED, RunState.DAMAGED)
"""States of runs that ``uqbench run`` runs."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run's state, its record if it can be read, and the reason for the state if there is one.

    ``provenance``: that of the record, where the record is left out, too.
    ``unreadable``: the disk failed; the files may be intact, and are neither moved nor overwritten.
    """

    state: RunState
    record: RunRecord | None = field(default=None, repr=False)
    reason: str | None = None
    unreadable: bool = False
    provenance: Provenance | None = field(default=None, repr=False)
