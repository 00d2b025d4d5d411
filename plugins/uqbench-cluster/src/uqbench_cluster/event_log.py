"""What happens to orders elsewhere: a node's log in the store, and the driver that follows it.

A log has the step of each run, and what happened. Any driver follows it: what happened once (a
batch began, ended, was split) is in order, of the steps only the latest count. ``uqbench status``
reads the steps (``uqbench.runner.step_log``).
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from uqbench.contract.executor import Executor, JobState, Order
from uqbench.results.records import Count
from uqbench.results.store import RunState, Store
from uqbench.runner import events
from uqbench.runner.batches import BatchGroup
from uqbench.runner.events import END, Event, Progress, Runs
from uqbench.runner.resume import failed
from uqbench.runner.step_log import WRITE_SECONDS, StepLog, StepLogWriter, forget, read_log

REMOTE_SECONDS = 5.0
"""Between two writes of the steps, as many nodes share a file system; what happened once is written
at once."""
POLL_SECONDS = 0.1
SHARE = 0.02
"""Largest share of the time that reading logs may take."""
LONGEST_SECONDS = 10.0
IDLE = (JobState.WAITING, JobState.RESTARTING, JobState.UNKNOWN)
TIMES_ENDED = 2
"""In a row that a job's status must be *ended* before it is: a scheduler may requeue it between."""


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
        event: Event = events.EVENT.validate_python(table, context=runs)
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
        first, progress = events.folders(event.batch)[0], dict(self._log.progress)
        table = events.EVENT.dump_python(event, mode="json")
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


def follow(
    executor: Executor,
    orders: Sequence[tuple[Order, BatchGroup]],
    root: Path,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Event, None, None]:
    """Yield what happens to orders that were submitted, until all of them have ended.

    An order whose job ended, and whose runs nobody has locked, is reported as failed; its file
    stays until its runs are finished, so that a job that is executed again all the same resumes it.

    Args:
        executor: to which they were submitted, by this process or an earlier one.
        orders: with the batches that they mean.
        root: of the store.
        sleep: waits some seconds.
    """
    store, polled = Store(root), -executor.poll_seconds
    left = {order.name: FollowedOrder(group, store) for order, group in orders}
    while left:
        began = time.monotonic()
        due = began - polled >= executor.poll_seconds
        if due:
            polled = began
            status = executor.status(list(left))  # first: who has ended has written all it will
            notes = {own.note: name for name, own in status.items() if own.state in IDLE}
            for note, name in notes.items():  # one for all that wait for the same reason
                yield events.Notice(left[name].group[0], note)
        for name, followed in list(left.items()):
            if (log := read_log(root, name, EventLog)) is not None:
                yield from followed.news(log)
            if due:
                followed.note(status[name].state)
            if followed.ended or followed.times_ended >= TIMES_ENDED:
                yield from followed.rest(status[name].note)
                del left[name]
                if followed.ended or followed.states() == {RunState.FINISHED}:
                    forget(root, name)
        if left:
            taken = time.monotonic() - began
            sleep(min(max(POLL_SECONDS, taken / SHARE), LONGEST_SECONDS, executor.poll_seconds))


class FollowedOrder:
    """An order, and how much of its log was reported.

    Args:
        group: the batches that it means.
        store: of their runs.
    """

    def __init__(self, group: BatchGroup, store: Store) -> None:
        self._store, self.group, self._runs = store, group, events.runs_by_folder(group)
        self._reported = 0
        self._progress: Mapping[str, dict[str, Any]] = {}
        self._open = {run for batch in group for run in batch.runs}
        self.ended, self.times_ended = False, 0

    def note(self, state: JobState) -> None:
        """Count how often the job was *ended*; what a process has locked is still executed."""
        gone = state is JobState.ENDED and RunState.RUNNING not in self.states()
        self.times_ended = self.times_ended + 1 if gone else 0

    def states(self) -> set[RunState]:
        """The states of its runs in the store."""
        runs = [run for batch in self.group for run in batch.runs]
        return {self._store.read(run.folder).state for run in runs}

    def news(self, log: EventLog) -> Iterator[Event]:
        """The events that were not reported yet."""
        latest = log.progress.items()  # compared as text: a metric may be NaN
        changed = [table for run, table in latest if repr(self._progress.get(run)) != repr(table)]
        for table in [*log.events[self._reported :], *changed]:
            if (event := decode(table, self._runs)) is None:
                continue
            if isinstance(event, END):
                self._open -= set(event.batch.runs)
            elif isinstance(event, Progress) and not set(event.batch.runs) <= self._open:
                continue
            yield event
        self._reported = max(self._reported, len(log.events))
        self._progress, self.ended = log.progress, log.ended
        if log.refused:
            yield from self.rest(log.refused)

    def rest(self, note: str) -> Iterator[Event]:
        """The ends of runs of which nothing was reported, when the order ended or is gone."""
        for batch in self.group:
            lost = []
            for run in (run for run in batch.runs if run in self._open):
                stored, alone = self._store.read(run.folder), batch.of([run])
                if stored.state is RunState.FINISHED and stored.record is not None:
                    timing = stored.record.timing
                    seconds = 0.0 if timing is None else timing.seconds
                    yield events.Finished(alone, seconds, {run.seed: stored.record.scalars})
                elif stored.state is RunState.FAILED and not note:
                    yield events.Failed(alone, stored.reason or "")  # reported to another driver
                else:
                    lost.append(run)
            if lost:
                yield failed(batch.of(lost), self._store, note or "its worker is gone")
        self._open.clear()
