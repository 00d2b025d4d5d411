"""Executing a group of batches, whose steps are interleaved, in the calling process.

Those of one method whose tasks an environment steps side by side are one batch: one graph. A batch
of several runs that fails is retried run by run: the retry of a batch begins here. One whose
environment cannot be made is not.
"""

import gc
import random
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Any

import numpy
import torch

from uqbench.contract.errors import StorageError, contained, located
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.registry.side_effects import Surroundings, arithmetic
from uqbench.results.store import RunState, Store
from uqbench.runner.batches import Batch, BatchGroup, registered
from uqbench.runner.checkpoints import CHECKPOINT_SECONDS
from uqbench.runner.events import Event, Finished, Notice, Split, Taken
from uqbench.runner.process import Stop, Stopwatch
from uqbench.runner.resume import failed, named_in
from uqbench.runner.train.agents import ApartError
from uqbench.runner.worker import BatchWork, NotMadeError

# Modules and classes whose functions every method calls.
LAYERS = torch.nn.functional, torch.nn.modules.module
SHARED = random, numpy, numpy.random, torch, torch.Tensor, *LAYERS


def execute(
    group: BatchGroup,
    store: Store,
    host: Host,
    report: Callable[[Event], None],
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    stop: Stop | None = None,
) -> bool:
    """Train, evaluate and store the runs of some batches, whose steps are interleaved.

    A batch that raises ends with ``Split``, or with ``Failed`` if it has one run or the disk
    failed; the others continue, unless a step changed the process for them: then all are given
    back, as ``Split``, each to be executed alone. Runs that another process has locked are left to
    it.

    Args:
        group: what to run.
        store: where the runs are kept.
        host: the plugins.
        report: called with each event.
        checkpoint_seconds: between two checkpoints; 0 for none.
        stop: by which the process is asked to stop.

    Returns:
        Whether the process is as it was; if not, no other group may be executed in it.

    Raises:
        SystemExit: the process was asked to stop.
    """
    if "torch._dynamo" in sys.modules:
        torch.compiler.reset()  # code compiled for earlier agents keeps them alive
        gc.collect()
    numbers = arithmetic()
    request, stopped, report = stop or Stop(), False, by_task(report)
    works = deque(
        _Work(batch, store, host, report, checkpoint_seconds, request)
        for batch in joined(group, store, host)
    )
    process = Surroundings(numbers, [*SHARED, *(x for work in works for x in work.things)])
    begin_random()  # after the imports, which may draw some
    alone, who = len(works) == 1, "importing one of them"
    while works:
        if not alone and (changed := [n for n, x in arithmetic().items() if x != numbers[n]]):
            for work in works:
                work.give_back(f"{who} changed {', '.join(changed)} in their process")
            break
        work = works.popleft()
        who = work.batch.name
        try:
            if work.turn(alone=not works):
                works.append(work)
            else:
                work.end(process)
        except BaseException as error:  # a plugin may raise anything
            work.end(process)
            if isinstance(error, SystemExit) and request.asked:
                stopped = True  # the others still write their checkpoints
            else:
                report(_failure(work.batch, store, error))
    if stopped:
        raise SystemExit(1)
    return not process.changed()


def by_task(report: Callable[[Event], None]) -> Callable[[Event], None]:
    """A report of the same events, each of a batch of several tasks once for each of them."""

    def tell(event: Event) -> None:
        for part in event.batch.parts:
            report(replace(event, batch=part))

    return tell


def joined(group: BatchGroup, store: Store, host: Host) -> list[Batch]:
    """The batches of a group, those of several tasks as one where these can step side by side."""
    batches, forms = list[Batch](), list[tuple[object, ...] | None]()
    for batch in group:
        form = _form(batch, store, host) if len(group) > 1 else None
        if form is None or form not in forms:
            batches.append(batch)
            forms.append(form)
        else:
            at = forms.index(form)
            batches[at] = replace(batches[at], beside=(*batches[at].beside, batch))
    return batches


def _form(batch: Batch, store: Store, host: Host) -> tuple[object, ...] | None:
    """The traits that batches need in common to be one; None of one that is always by itself."""
    task, method, budget = batch.cell.task, batch.cell.method, batch.budget
    spec = host.environments[task.environment] if task.environment and method.agent else None
    if spec is None or spec.side_by_side is None or spec.exact_truth or spec.optimal_q:
        return None
    if not host.agents[str(method.agent)].makes("uqbench.lanes:Capturable"):
        return None
    checkpoints = named_in((run.folder for run in batch.runs), store)
    trained = budget.model_copy(update={"queries": None}), budget.queries is None
    alike = batch.cell.config, trained, task.environment, task.discount, task.time_limit
    return *alike, task.time_limit_is, method.name, checkpoints


class _Work:
    """A batch that takes turns with others."""

    def __init__(
        self,
        batch: Batch,
        store: Store,
        host: Host,
        report: Callable[[Event], None],
        checkpoint_seconds: float,
        stop: Stop,
    ) -> None:
        self.batch, self._report, self._watch = batch, report, Stopwatch()
        self._finished = list[Event]()
        self.things = _import(batch, host)
        self._stream: AbstractContextManager[Any] = nullcontext()
        if batch.device == "cuda":  # of its own: batches overlap, and steps can be captured
            self._stream = torch.cuda.stream(torch.cuda.Stream())
        self._steps = self._do(batch, store, host, checkpoint_seconds, stop)

    def turn(self, alone: bool) -> bool:
        """Take a step, or all if ``alone``; return whether some are left."""
        with self._stream, self._watch:
            for _ in self._steps:
                if not alone:
                    return True
        return False

    def give_back(self, why: str) -> None:
        """Stop before the next step, and have the runs executed in another process."""
        self._steps.close()
        self._report(Split(self.batch, why, len(self.batch.runs)))

    def end(self, process: Surroundings) -> None:
        """Report the end, after what changed in the process."""
        if changed := process.changed():
            text = f"it changed {', '.join(changed)} in its process, which was replaced"
            self._report(Notice(self.batch, text))
        for event in self._finished:
            self._report(event)

    def _do(
        self, batch: Batch, store: Store, host: Host, checkpoint_seconds: float, stop: Stop
    ) -> Generator[None, None, None]:
        """Work on the runs that no other process works on, yielding after every step."""
        runs = []
        with ExitStack() as locks:
            for run in batch.runs:
                if (lock := store.lock(run)) is None:
                    continue
                locks.callback(lock.release)
                stored = store.find(run)
                if stored.unreadable:
                    raise StorageError(f"{store.folder(run)}: {stored.reason}")
                if stored.state is RunState.DAMAGED:
                    aside = store.set_aside(run)
                    self._report(Notice(batch.of([run]), f"the damaged run is kept as {aside}"))
                if stored.state is not RunState.FINISHED:
                    runs.append(run)
            if others := [run for run in batch.runs if run not in runs]:
                self._report(Taken(batch.of(others)))
            for part in _by_stage(runs, store):
                work = BatchWork(batch.of(part), store, host, self._tell, self._watch)
                yield from work.steps(checkpoint_seconds, stop)

    def _tell(self, event: Event) -> None:
        """Report an event; the end only after what changed in the process."""
        if isinstance(event, Finished):
            self._finished.append(event)
        else:
            self._report(event)


def _by_stage(runs: list[Run], store: Store) -> list[list[Run]]:
    """Each run whose training is stored, alone, and all others together."""
    records = {run: store.read(run.folder).record for run in runs}
    trained = [run for run, record in records.items() if record is not None and record.trained]
    others = [run for run in runs if run not in trained]
    return [*([run] for run in trained), *([others] if others else [])]


def _failure(batch: Batch, store: Store, error: BaseException) -> Event:
    """The event of a batch that raised an error, which is being handled."""
    if isinstance(error, NotMadeError):
        return failed(batch, store, str(error), traceback.format_exc())
    if isinstance(error, ApartError):
        return Split(batch, f"the tasks are taken one by one: {error}", len(batch.runs))
    if len(batch.runs) > 1 and not isinstance(error, StorageError):
        too_many = isinstance(error, torch.OutOfMemoryError)  # for a GPU
        return Split(batch, located(error), (len(batch.runs) + 1) // 2 if too_many else 1)
    full = isinstance(error, StorageError) and error.full
    return failed(batch, store, located(error), traceback.format_exc(), full)


def begin_random() -> None:
    """Begin the global random numbers: what a group draws of them is what it draws alone."""
    random.seed(0)
    numpy.random.seed(0)  # noqa: NPY002 (this is of methods that draw from it)
    torch.manual_seed(0)  # CUDA's, too


def _import(batch: Batch, host: Host) -> list[object]:
    """Import what a batch is made of.

    Returns the classes that were imported, with the modules of methods and risk measures, which may
    hold something between two runs. What cannot be imported fails the batch later, under its own
    name.
    """
    methods = host.agents, host.estimators, host.risk_measures
    things: list[object] = [type(batch.cell.config)]
    for registry, name in registered(batch, host):
        with contained(lambda _: None):
            made = registry[name].load_factory()
            things.append(made)
            if registry in methods:
                things.append(sys.modules[made.__module__])
    return things
