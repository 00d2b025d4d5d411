"""The runs of a batch, from their first step or a checkpoint to the store."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial

import torch

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.records import Resumed, Saved, Timing
from uqbench.results.store import Store, now, this_process
from uqbench.results.tables import RunColumns
from uqbench.runner.batches import Batch, plugins_of
from uqbench.runner.checkpoints import Checkpoint, Checkpointer, UnusableError, read_state
from uqbench.runner.events import Event, Finished, Notice, Progress, Started
from uqbench.runner.metric_values import final_metrics
from uqbench.runner.process import Spent, Stop, Stopwatch
from uqbench.runner.resume import (
    ResumePoint,
    blank_record,
    device_name,
    find_resume_point,
    named_in,
    tidy,
)
from uqbench.runner.train.agents import Training, train_loop_agent
from uqbench.runner.train.estimators import fit_estimator
from uqbench.runner.train.measurements import Latest, Measurements

REPORT_SECONDS = 0.5
RECORD_SECONDS = 600.0
"""Between two records of the steps; a checkpoint has its own, and the order's progress is newer.

A record is flushed to disk, one for each lane: every minute, five hundred lanes would take more
than ten flushes a second.
"""


class BatchWork:
    """The runs of a batch, locked by this process, from their first step or a checkpoint on.

    Attributes:
        record: of each run, as it began; its identity, step and checkpoint are added.
        saved: the checkpoint that the records name.
        lanes: all that execute: the runs, and any others that the checkpoint holds, which are not
            stored.
    """

    def __init__(
        self,
        batch: Batch,
        store: Store,
        host: Host,
        report: Callable[[Event], None],
        watch: Stopwatch,
        when_there_is_room: Callable[[Callable[[], object]], object],
    ) -> None:
        self.batch, self.store, self.host, self.report = batch, store, host, report
        self.watch, self.when_there_is_room = watch, when_there_is_room
        self.device = torch.device(batch.device)
        self.blank = self.record = blank_record(plugins_of(batch, host), device_name(self.device))
        self.saved: Saved | None = None
        self.lanes = batch.runs

    def steps(self, checkpoint_seconds: float, stop: Stop) -> Iterator[None]:
        """Do the work, yielding after every step; start over if the checkpoint cannot be used."""
        runs = self.batch.runs
        wrong: str | None = None
        try:
            origin = find_resume_point(runs, self.store, self.blank.provenance)
            about = self.begin(origin)
            columns, spent = yield from self._compute(about, origin, checkpoint_seconds, stop)
        except UnusableError as error:
            wrong = str(error)
        if wrong is not None:  # outside of the handler, which keeps what failed in memory
            self._notify(f"starting over: {wrong}")
            named = named_in((run.folder for run in runs), self.store)
            about = self.begin(None)
            for folder in filter(None, named):
                with suppress(StorageError):  # another run may name it: it stays
                    tidy(folder, self.store)
            columns, spent = yield from self._compute(about, None, checkpoint_seconds, stop)
        self.finish(columns, spent)

    def begin(self, origin: ResumePoint | None) -> Checkpoint:
        """Write in the runs' records that they begin, or resume; return where that is."""
        step, spent, self.lanes = 0, Spent(), self.batch.runs
        self.record, self.saved = self.blank, None
        if origin is not None:
            about, self.lanes = origin.about, origin.lanes
            step, spent, self.saved = about.step, about.spent, _saved(origin.folder, about.step)
            device, host = self.blank.provenance.device, this_process().host
            here = Resumed(step=step, when=now(), host=host, device=device)
            update = {"provenance": about.provenance, "resumed": (*about.resumed, here)}
            self.record = self.blank.model_copy(update={"began": about.began, **update})
        self.when_there_is_room(partial(self._write_running, step))
        self.report(Started(self.batch, step, spent.seconds, len(self.lanes)))
        return Checkpoint(
            seeds=tuple(run.seed for run in self.lanes),
            runs=tuple(run.digest for run in self.lanes),
            step=step,
            **spent._asdict(),
            began=self.record.began,
            provenance=self.record.provenance,
            resumed=self.record.resumed,
        )

    def _compute(
        self, about: Checkpoint, origin: ResumePoint | None, checkpoint_seconds: float, stop: Stop
    ) -> Generator[None, None, tuple[list[RunColumns], Spent]]:
        """The columns of each lane, and the time of their own steps, by kind of method."""
        batch, began = self.batch.of(self.lanes), self.watch.spent
        if batch.cell.method.estimator is not None:
            if batch.keep_agents:
                self._notify("--keep-agents: not kept: an estimator is no agent")
            columns = fit_estimator(batch, self.host, self.device, self._notify)
            return columns, self.watch.spent.plus(began, -1)
        measured, on_step = Measurements(batch, self.host, self.device), self._on_step(about.step)
        if batch.cell.owns_loop:
            columns = train_loop_agent(batch, self.host, measured, on_step, self._notify)
            return columns, self.watch.spent.plus(began, -1)
        checkpointer = self._checkpointer(about, origin, checkpoint_seconds, stop)
        saved = None
        if origin is not None:
            saved = partial(read_state, origin.folder, origin.about, self.device)
        try:
            training = Training(batch, self.host, measured, saved, self._notify)
            with stop.deferred():
                for step, latest in training.steps():
                    on_step(step, latest)
                    checkpointer.after(step, training.state)
                    yield
                columns = training.columns(self._notify)
        except (UnusableError, StorageError, GeneratorExit):
            raise  # the checkpoint is not to blame, or the caller handles it
        except BaseException as error:
            if not (isinstance(error, SystemExit) and stop.asked):
                self._forget_checkpoint()  # it would recur: its cause may be in the saved state
            raise
        return columns, checkpointer.spent

    def _checkpointer(
        self, about: Checkpoint, origin: ResumePoint | None, every: float, stop: Stop
    ) -> Checkpointer:
        """Writes the lanes' checkpoints, and their records where these have to name another."""
        folder = self.store.checkpoint_folder(self.batch.runs[0])

        def written(step: int) -> None:
            before, self.saved = self.saved, _saved(folder, step)
            if before is None or before.folder != self.saved.folder or stop.asked:
                self.when_there_is_room(partial(self._write_running, step))
            if origin is not None and origin.folder != folder:
                tidy(origin.folder, self.store, self.lanes)

        return Checkpointer(folder, about, self.watch, every, stop, written, self._notify)

    def _forget_checkpoint(self) -> None:
        """Remove the checkpoint, and name none, as far as that is possible."""
        if (saved := self.saved) is not None:
            self.saved = None
            with suppress(UqbenchError):  # the error that led here is the one to report
                self._write_running(saved.step)
                tidy(self.store.at(saved.folder), self.store, self.lanes)

    def _on_step(self, first: int) -> Callable[[int, Latest], None]:
        """Report progress since step ``first``, and rewrite the records now and then."""
        began = reported = beaten = time.monotonic()
        warned = False

        def on_step(step: int, latest: Latest) -> None:
            nonlocal reported, beaten, warned
            clock = time.monotonic()
            if clock - reported >= REPORT_SECONDS:
                reported = clock
                places = [(run.seed, self.lanes.index(run)) for run in self.batch.runs]
                shown = {s: {n: float(v[lane]) for n, v in latest.items()} for s, lane in places}
                self.report(Progress(self.batch, step, clock - began, shown, first))
            if clock - beaten >= RECORD_SECONDS:
                beaten = clock
                try:
                    self._write_running(step)
                except StorageError as error:  # only `uqbench status` reads it
                    if not warned:
                        warned = True
                        self._notify(f"the run continues, but {error}")

        return on_step

    def finish(self, columns: Sequence[RunColumns], spent: Spent) -> None:
        """Store the runs, and remove their checkpoint."""
        batch, steps, lanes = self.batch, self.batch.budget.steps, len(self.lanes)
        on_cpu = self.device.type == "cpu"
        cost = spent.cpu_seconds if on_cpu else spent.seconds
        timing = Timing(
            seconds=spent.seconds,
            lanes=lanes,
            steps_per_s=steps * lanes / cost,
            cpu_seconds=cost if on_cpu else None,
        )
        metrics = {metric.name: metric.definition() for metric in batch.metrics}
        done = {"status": "finished", "step": steps, "timing": timing, "metrics": metrics}
        scalars = {}

        def store(run: Run) -> None:
            left = columns[self.lanes.index(run)]
            own = final_metrics(batch, self.host, left, timing)
            record = self.record.model_copy(update={**done, "scalars": own})
            self.when_there_is_room(partial(self.store.finish, run, record, left))
            scalars[run.seed] = own

        _each(store, batch.runs)
        if self.saved is not None:
            with suppress(StorageError):  # the runs are stored; a leftover checkpoint does no harm
                tidy(self.store.at(self.saved.folder), self.store, self.lanes)
        self.report(Finished(batch, spent.seconds, scalars))

    def _notify(self, text: str) -> None:
        self.report(Notice(self.batch, text))

    def _write_running(self, step: int) -> None:
        record = self.record.model_copy(update={"step": step, "checkpoint": self.saved})
        _each(lambda run: self.store.write(run, record), self.batch.runs)


def _each(write: Callable[[Run], None], runs: Sequence[Run]) -> None:
    """Write something of each run, also of those after one that fails; raise the first error."""
    errors = []
    for run in runs:
        try:
            write(run)
        except StorageError as error:
            if error.full:
                raise
            errors.append(error)
    if errors:
        raise errors[0]


def _saved(folder: Folder, step: int) -> Saved:
    return Saved(folder="/".join(folder.names), step=step)
