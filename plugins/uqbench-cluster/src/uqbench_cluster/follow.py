"""Following orders: what their nodes write to the store becomes events for the driver."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from uqbench.contract.executor import Executor, JobState, Order
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import BatchGroup
from uqbench.runner.events import END, Event, Failed, Finished, Notice, Progress, runs_by_folder
from uqbench.runner.resume import failed
from uqbench.runner.step_log import forget, read_log
from uqbench_cluster.event_log import EventLog, decode

POLL_SECONDS = 0.1
SHARE = 0.02
"""Largest share of the time that reading logs may take."""
LONGEST_SECONDS = 10.0
IDLE = (JobState.WAITING, JobState.RESTARTING, JobState.UNKNOWN)
TIMES_ENDED = 2
"""In a row that a job's status must be *ended* before it is: a scheduler may requeue it between."""


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
                yield Notice(left[name].group[0], note)
        for name, followed in list(left.items()):
            log = read_log(root, name, EventLog)
            if log is not None:
                yield from followed.news(log)
            if due:
                followed.note(status[name].state)
            if followed.ended or followed.times_ended >= TIMES_ENDED:
                yield from followed.rest(status[name].note)
                del left[name]
                if followed.ended or followed.is_finished():
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
        self._store, self.group, self._runs = store, group, runs_by_folder(group)
        self._reported = 0
        self._progress: Mapping[str, dict[str, Any]] = {}
        self._open = {run for batch in group for run in batch.runs}
        self.ended, self.times_ended = False, 0

    def note(self, state: JobState) -> None:
        """Count how often the job was *ended*; what a process has locked is still executed."""
        gone = state is JobState.ENDED and RunState.RUNNING not in self._states()
        self.times_ended = self.times_ended + 1 if gone else 0

    def is_finished(self) -> bool:
        """Whether all of its runs are stored."""
        return self._states() == {RunState.FINISHED}

    def _states(self) -> set[RunState]:
        runs = [run for batch in self.group for run in batch.runs]
        return {self._store.read(run.folder).state for run in runs}

    def news(self, log: EventLog) -> Iterator[Event]:
        """The events that were not reported yet."""
        latest = log.progress.items()  # compared as text: a metric may be NaN
        changed = [table for run, table in latest if repr(self._progress.get(run)) != repr(table)]
        for table in [*log.events[self._reported :], *changed]:
            event = decode(table, self._runs)
            if event is None:
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
                    yield Finished(alone, seconds, {run.seed: stored.record.scalars})
                elif stored.state is RunState.FAILED and not note:
                    yield Failed(alone, stored.reason or "")  # reported to another driver
                else:
                    lost.append(run)
            if lost:
                yield failed(batch.of(lost), self._store, note or "its worker is gone")
        self._open.clear()
