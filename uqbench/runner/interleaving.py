"""Executing a group of batches, whose steps are interleaved, in the calling process.

A batch of several runs that fails is retried run by run: the retry of a batch begins here.
"""

import gc
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any

import torch

from uqbench.contract.errors import StorageError, contained, in_words
from uqbench.registry.plugins import Host
from uqbench.registry.side_effects import Surroundings, watched
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import Batch, BatchGroup, registered
from uqbench.runner.checkpoints import CHECKPOINT_SECONDS
from uqbench.runner.events import Event, Finished, Notice, Split, Taken
from uqbench.runner.full_disk import WaitsForRoom
from uqbench.runner.run_records import failed
from uqbench.runner.stop import Stop
from uqbench.runner.stopwatch import Stopwatch
from uqbench.runner.worker import BatchWork


def execute(
    group: BatchGroup,
    store: Store,
    host: Host,
    report: Callable[[Event], None],
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    stop: Stop | None = None,
) -> None:
    """Train, evaluate and store the runs of some batches, whose steps are interleaved.

    A batch that raises ends with ``Split``, or with ``Failed`` if it has one run or the disk
    failed; the others continue. Runs that another process has locked are left to it. On a full
    disk it waits.

    Args:
        group: what to run.
        store: where the runs are kept.
        host: the plugins.
        report: called with each event.
        checkpoint_seconds: between two checkpoints; 0 for none.
        stop: by which the process is asked to stop.

    Raises:
        SystemExit: the process was asked to stop.
    """
    if any(batch.budget.numerics == "compiled" for batch in group):
        torch.compiler.reset()  # code compiled for earlier agents keeps them alive
        gc.collect()
    request, stopped = stop or Stop(), False
    imported = {id(batch): _import(batch, host) for batch in group}
    surroundings, ended = Surroundings(), list[Event]()

    def end(batch: Batch) -> None:
        """Report the end of a batch, after what it changed in the process."""
        if changed := dict.fromkeys((*imported[id(batch)], *surroundings.changed(id(batch)))):
            names = ", ".join(changed)
            report(Notice(batch, f"it changed {names} in its process, which was restored"))
        for event in ended:
            report(event)
        ended.clear()

    def told(event: Event) -> None:
        if isinstance(event, Finished):
            ended.append(event)
        else:
            report(event)

    def steps_of(batch: Batch, watch: Stopwatch) -> Iterator[None]:
        """Work on a batch, yielding after every step."""
        runs = []
        when_there_is_room = WaitsForRoom(watch, request, lambda text: report(Notice(batch, text)))
        with ExitStack() as locks:
            for run in batch.runs:
                lock = when_there_is_room(partial(store.lock, run))
                if lock is None:
                    continue
                locks.callback(lock.release)
                stored = store.find(run)
                if stored.unreadable:
                    raise StorageError(f"{store.folder(run)}: {stored.reason}")
                state = stored.state
                if state is RunState.DAMAGED:
                    aside = store.set_aside(run)
                    report(Notice(batch.of([run]), f"the damaged run is kept as {aside}"))
                if state is not RunState.FINISHED:
                    runs.append(run)
            others = [run for run in batch.runs if run not in runs]
            if others:
                report(Taken(batch.of(others)))
            if runs:
                work = BatchWork(batch.of(runs), store, host, told, watch, when_there_is_room)
                yield from work.steps(checkpoint_seconds, request)

    works = []
    for batch in group:
        watch = Stopwatch()
        stream: AbstractContextManager[Any] = nullcontext()
        if batch.device == "cuda":  # of its own: batches overlap, and steps can be captured
            stream = torch.cuda.stream(torch.cuda.Stream())
        works.append((batch, stream, watch, steps_of(batch, watch)))
    while works:
        going = []
        for work in works:
            batch, stream, watch, steps = work
            last = True
            try:
                with stream, watch:
                    surroundings.begin(id(batch))
                    try:
                        for _ in steps:
                            if len(works) > 1:  # the next one's turn
                                last = False
                                break
                    finally:
                        surroundings.end(id(batch), last=last)
            except BaseException as error:  # a plugin may raise anything
                end(batch)
                if isinstance(error, SystemExit) and request.asked:
                    stopped = True  # the others still write their checkpoints
                    continue
                reason = in_words(error)
                if len(batch.runs) > 1 and not isinstance(error, StorageError):
                    too_many = isinstance(error, torch.OutOfMemoryError)  # for a GPU
                    report(Split(batch, reason, (len(batch.runs) + 1) // 2 if too_many else 1))
                else:
                    full = isinstance(error, StorageError) and error.full
                    report(failed(batch, store, reason, traceback.format_exc(), full))
            else:
                if last:
                    end(batch)
                else:
                    going.append(work)
        works = going
    surroundings.end_all()
    if stopped:
        raise SystemExit(1)


def _import(batch: Batch, host: Host) -> list[str]:
    """Import what a batch is made of; returns the defaults that this changed, which are restored.

    A library sets variables of the environment as it is imported, and not again: they stay. What
    cannot be imported fails the batch later, under its own name.
    """
    changed = list[str]()
    with watched(changed):
        for registry, name in registered(batch, host):
            with contained(lambda _: None):
                registry[name].load_factory()
    return changed
