"""Following orders: what their nodes write to the store becomes events for the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from uqbench.errors import UqbenchError
from uqbench.executor import Executor, Order, order_path
from uqbench.identity import Run
from uqbench.results.store import RunState, Store
from uqbench.runner.batching.batches import Batch, BatchGroup
from uqbench.runner.dispatch.event_log import event_of
from uqbench.runner.dispatch.progress import (
    Entry,
    Progress,
    parse,
    read_progress,
)
from uqbench.runner.events import Event, Failed, Finished
from uqbench.runner.failures import fail

POLL_SECONDS = 0.1
SHARE = 0.02
"""Largest share of the time that reading progress may take."""
LONGEST_SECONDS = 10.0
LIFE_SECONDS = 1.0
"""Between two questions to the executor."""


def follow(
    executor: Executor,
    orders: Sequence[tuple[Order, BatchGroup]],
    root: Path,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Event, None, None]:
    """Yield what happens to orders that were submitted, until all of them have ended.

    An order that is gone before it ended is reported as failed; its runs can be resumed.

    Args:
        executor: to which they were submitted, by this process or an earlier one.
        orders: with the batches that they mean.
        root: of the store.
        sleep: waits some seconds.
    """
    store = Store(root)
    left = {order.name: _Followed(order, group, store) for order, group in orders}
    asked = -LIFE_SECONDS
    lives = dict(executor.alive(list(left)))
    while left:
        began = time.monotonic()
        if began - asked >= LIFE_SECONDS:
            lives = dict(executor.alive(list(left)))  # first: the dead have written all they will
            asked = began
        for name, followed in list(left.items()):
            life = lives[name]
            unwritten = None if life.unwritten is None else parse(life.unwritten, name)
            progress = unwritten or read_progress(root, name)
            if progress is not None:
                yield from followed.news(progress)
            if followed.ended or not life.alive:
                yield from followed.rest(life.note)
                del left[name]
                forget(root, name)
        if left:
            taken = time.monotonic() - began
            sleep(min(max(POLL_SECONDS, taken / SHARE), LONGEST_SECONDS))


def forget(root: Path, name: str) -> None:
    """Remove the files of an order that has ended."""
    folder = order_path(root, name).parent
    for path in folder.glob(f"{name}.*"):  # with what the executor keeps
        with suppress(OSError):  # another driver was first, or the next one removes it
            path.unlink()
    with suppress(OSError):  # there are others
        folder.rmdir()


class _Followed:
    """An order, and how much of its progress was told."""

    def __init__(self, order: Order, group: BatchGroup, store: Store) -> None:
        self._store, self._group = store, group
        digests = [digest for batch in order.batches for digest in batch]
        runs = {run.digest: (batch, run) for batch in group for run in batch.runs}
        self._runs: list[tuple[Batch, Run]] = [runs[digest] for digest in digests]
        self._told = 0
        self._steps: Mapping[int, Entry] = {}
        self._open = {run for _, run in self._runs}
        self.ended = False

    def news(self, progress: Progress) -> Iterator[Event]:
        """What was not told yet."""
        for entry in progress.entries[self._told :]:
            event = self._event(entry)
            if entry.kind in ("finished", "failed", "taken"):
                self._open -= set(event.batch.runs)
            yield event
        self._told = max(self._told, len(progress.entries))
        for first, entry in progress.latest.items():
            if self._steps.get(first) != entry and set(self._batch(entry).runs) <= self._open:
                yield self._event(entry)
        self._steps = progress.latest
        self.ended = progress.ended
        if progress.refused:
            yield from self.rest(progress.refused)

    def rest(self, note: str) -> Iterator[Event]:
        """What becomes of runs that nothing was told of, when the order has ended or is gone."""
        for batch in self._group:
            lost = []
            for run in (run for run in batch.runs if run in self._open):
                found = self._store.read(run.folder)
                if found.state is RunState.FINISHED:
                    yield Finished(batch.of([run]), self._seconds(run), self._scalars([run]))
                elif found.state is RunState.FAILED and not note:
                    yield Failed(batch.of([run]), found.reason or "")  # told to another driver
                else:
                    lost.append(run)
            if lost:
                yield self._lost(batch.of(lost), note or "its worker is gone")
        self._open.clear()

    def _lost(self, batch: Batch, reason: str) -> Failed:
        with suppress(UqbenchError):  # on a full disk it stays abandoned
            fail(batch, self._store, reason)
        return Failed(batch, reason)

    def _batch(self, entry: Entry) -> Batch:
        batch = self._runs[entry.runs[0]][0]
        return batch.of([self._runs[at][1] for at in entry.runs])

    def _event(self, entry: Entry) -> Event:
        batch = self._batch(entry)
        seeds = {at: self._runs[at][1].seed for at in entry.runs}
        return event_of(entry, batch, lambda: self._scalars(batch.runs), seeds)

    def _scalars(self, runs: Sequence[Run]) -> Mapping[int, Mapping[str, float | None]]:
        records = {run.seed: self._store.read(run.folder).record for run in runs}
        return {seed: {} if record is None else record.scalars for seed, record in records.items()}

    def _seconds(self, run: Run) -> float:
        record = self._store.read(run.folder).record
        timing = None if record is None else record.timing
        return 0.0 if timing is None else timing.seconds
