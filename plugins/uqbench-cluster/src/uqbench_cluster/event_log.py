"""A node's log in the store: the step of each run, and what happened.

Any driver follows it: what happened once (a batch began, ended, was split) is in order, of the
steps only the latest count. ``uqbench status`` reads the steps (``uqbench.runner.step_log``).
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from uqbench.contract.executor import Order
from uqbench.results.records import Count
from uqbench.runner.events import END, EVENT, Event, Progress, Runs, folders
from uqbench.runner.step_log import WRITE_SECONDS, StepLog, StepLogWriter, read_log

REMOTE_SECONDS = 5.0
"""Between two writes of the steps, as many nodes share a file system; what happened once is written
at once."""


class EventLog(StepLog):
    """The contents of the file.

    Attributes:
        attempts: how many times it was begun.
        ended: whether nothing of it is left to do.
        refused: why the node did not begin; empty if it did.
        events: what happened once, the oldest first.
        progress: the latest of each batch, by the folder of its first run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    attempts: Count = 0
    ended: bool = False
    refused: str = ""
    events: tuple[dict[str, Any], ...] = ()
    progress: dict[str, dict[str, Any]] = Field(default_factory=dict)


def decode(table: dict[str, Any], runs: Runs) -> Event | None:
    """The event of a table, if it is one of these runs."""
    try:
        event: Event = EVENT.validate_python(table, context=runs)
    except (ValidationError, RecursionError):
        return None
    return event


class EventLogWriter(StepLogWriter):
    """Writes a log.

    Args:
        root: of the store.
        order: whose events are written, after those of an earlier attempt, as long as it is in the
            store: who removes it has no use for its log.
        every: seconds between two writes of the steps.
        clock: returns seconds.
    """

    _log: EventLog

    def __init__(
        self,
        root: Path,
        order: Order,
        every: float = WRITE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        before = read_log(root, order.name, EventLog) or EventLog(version=2, order=order.name)
        own = {"attempts": before.attempts + 1, "ended": False, "refused": "", "progress": {}}
        super().__init__(root, every, clock, before.model_copy(update=own))
        self.resumed, self.open = before.attempts > 0, set(order.runs)
        self._order = order.path(root)

    def _noted(self, event: Event) -> tuple[dict[str, Any], bool]:
        update, due = super()._noted(event)
        first, progress = folders(event.batch)[0], dict(self._log.progress)
        table = EVENT.dump_python(event, mode="json")
        if isinstance(event, Progress):
            progress[first] = table
        else:
            progress.pop(first, None)
            update["events"], due = (*self._log.events, table), True
        if isinstance(event, END):
            self.open -= {run.digest for run in event.batch.runs}
            update["ended"] = not self.open
        return update | {"progress": progress}, due

    def refuse(self, reason: str) -> None:
        """Note that the node does not begin."""
        self.open.clear()
        self._log = self._log.model_copy(update={"ended": True, "refused": reason})

    def write(self) -> None:
        """Write the log.

        Raises:
            StorageError: it cannot be written, as on a full disk.
        """
        if self._order.exists():
            super().write()
