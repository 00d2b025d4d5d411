"""The runs of a batch, from their first step or a checkpoint to the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial

import torch

from uqbench.contract.errors import StorageError, UqbenchError
from uqbench.registry.plugins import Host
from uqbench.results.columns import RunColumns
from uqbench.results.folders import Folder
from uqbench.results.records import Resumed, Saved, Timing
from uqbench.results.store import Store, now, this_process
from uqbench.runner.batches import Batch, plugins_of
from uqbench.runner.checkpoints import Checkpoint, Checkpointer, UnusableError, read_state
from uqbench.runner.events import Event, Finished, Notice, Progress, Started
from uqbench.runner.full_disk import WaitsForRoom
from uqbench.runner.metric_values import final_metrics
from uqbench.runner.resume import ResumePoint, find_resume_point, named_in, tidy
from uqbench.runner.run_records import blank_record, device_name
from uqbench.runner.stop import Stop
from uqbench.runner.stopwatch import Spent, Stopwatch
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

    ``lanes`` are all that execute: the runs, and any others that the checkpoint holds, which are
    not stored.
    """

    def __init__(
        self,
        batch: Batch,
        store: Store,
        host: Host,
        report: Callable[[Event], None],
        watch: Stopwatch,
        when_there_is_room: WaitsForRoom,
    ) -> None:
        self.batch, self.store, self.host, self.report = batch, store, host, report
        self.watch, self.when_there_is_room = watch, when_there_is_room
        self.device = torch.device(batch.device)
        self.device_name = device_name(self.device)
        self.blank = self.record = blank_record(plugins_of(batch, host), self.device_name)
        self.lanes = batch.runs

    def steps(self, checkpoint_seconds: float, stop: Stop) -> Iterator[None]:
        """Do the work, yielding after every step; start over if the checkpoint cannot be used."""
        runs = self.batch.runs
        wrong: str | None = None
        try:
            origin = find_resume_point(runs, self.store, self.record.provenance)
            self._begin(origin)
            columns, spent = yield from self._compute(origin, checkpoint_seconds, stop)
        except UnusableError as error:
            wrong = str(error)
        if wrong is not None:  # outside of the handler, which keeps what failed in memory
            self._notify(f"starting over: {wrong}")
            named = named_in((run.folder for run in runs), self.store)
            self._begin(None)
            for folder in filter(None, named):
                with suppress(StorageError):  # another run may name it: it stays
                    tidy(folder, self.store)
            columns, spent = yield from self._compute(None, checkpoint_seconds, stop)
        self._finish(columns, spent)

    def _begin(self, origin: ResumePoint | None) -> None:
        """Write in the runs' records that they begin, or resume."""
        step, spent, self.lanes, self.record = 0, Spent(), self.batch.runs, self.blank
        if origin is not None:
            step, spent, self.lanes = origin.about.step, origin.about.spent, origin.lanes
            resumed = Resumed(
                step=step, when=now(), host=this_process().host, device=self.device_name
            )
            update = {
                "began": origin.about.began,
                "provenance": origin.about.provenance,
                "resumed": (*origin.about.resumed, resumed),
                "checkpoint": self._saved(origin.folder, step),
            }
            self.record = self.blank.model_copy(update=update)
        self.about = Checkpoint(
            seeds=tuple(run.seed for run in self.lanes),
            runs=tuple(run.digest for run in self.lanes),
            step=step,
            **spent._asdict(),
            began=self.record.began,
            provenance=self.record.provenance,
            resumed=self.record.resumed,
        )
        self.when_there_is_room(partial(self._write_running, step))
        self.report(Started(self.batch, step, spent.seconds, len(self.lanes)))

    def _compute(
        self, origin: ResumePoint | None, checkpoint_seconds: float, stop: Stop
    ) -> Generator[None, None, tuple[list[RunColumns], Spent]]:
        """What each lane leaves behind, and the time of their own steps."""
        batch, began = self.batch.of(self.lanes), self.watch.spent
        on_step = self._on_step(self.about.step)
        if batch.cell.method.estimator is not None:
            if batch.keep_agents:
                self._notify("--keep-agents: not kept: an estimator is no agent")
            columns = fit_estimator(batch, self.host, self.device, self._notify)
            return columns, self.watch.spent.plus(began, -1)
        measured = Measurements(batch, self.host, self.device)
        if batch.cell.owns_loop:
            columns = train_loop_agent(batch, self.host, measured, on_step, self._notify)
            return columns, self.watch.spent.plus(began, -1)
        folder = self.store.checkpoint_folder(self.batch.runs[0])

        def written(step: int) -> None:
            named = self.record.checkpoint
            self.record = self.record.model_copy(update={"checkpoint": self._saved(folder, step)})
            new = named is None or named.folder != self._saved(folder, step).folder
            if new or stop.asked:
                self.when_there_is_room(partial(self._write_running, step))
            if origin is not None and origin.folder != folder:
                tidy(origin.folder, self.store, self.lanes)

        checkpointer = Checkpointer(
            folder, self.about, self.watch, checkpoint_seconds, stop, written, self._notify
        )
        saved = None
        if origin is not None:
            saved = partial(read_state, origin.folder, origin.about, self.device)
        try:
            training = Training(batch, self.host, measured, saved)
            with stop.deferred():
                for step, latest in training.steps():
                    on_step(step, latest)
                    checkpointer.after(step, training.state)
                    yield
                columns = training.columns(self._notify)
        except (UnusableError, StorageError, GeneratorExit):
            raise  # the checkpoint is not to blame, or the caller handles it
        except BaseException as error:  # it would recur: its cause may be in the saved state
            if isinstance(error, SystemExit) and stop.asked:
                raise
            if (named := self.record.checkpoint) is not None:
                self.record = self.record.model_copy(update={"checkpoint": None})
                with suppress(UqbenchError):  # the error that led here is the one to report
                    self._write_running(named.step)
                    tidy(self.store.at(named.folder), self.store, self.lanes)
            raise
        return columns, checkpointer.spent

    def _on_step(self, first: int) -> Callable[[int, Latest], None]:
        """Report progress since step ``first``, and rewrite the records now and then."""
        began = reported = beaten = time.monotonic()
        warned = False

        def on_step(step: int, latest: Latest) -> None:
            nonlocal reported, beaten, warned
            clock = time.monotonic()
            if clock - reported >= REPORT_SECONDS:
                reported = clock
                lane_of = {run.seed: self.lanes.index(run) for run in self.batch.runs}
                by_seed = {
                    seed: {name: float(values[lane]) for name, values in latest.items()}
                    for seed, lane in lane_of.items()
                }
                self.report(Progress(self.batch, step, clock - began, by_seed, first))
            if clock - beaten >= RECORD_SECONDS:
                beaten = clock
                try:
                    self._write_running(step)
                except StorageError as error:  # only `uqbench status` reads it
                    if not warned:
                        warned = True
                        self._notify(f"the run continues, but {error}")

        return on_step

    def _finish(self, columns: Sequence[RunColumns], spent: Spent) -> None:
        """Store the runs, and remove their checkpoint."""
        batch, steps = self.batch, self.batch.budget.steps
        on_cpu = self.device.type == "cpu"
        cost = spent.cpu_seconds if on_cpu else spent.seconds
        timing = Timing(
            seconds=spent.seconds,
            lanes=len(self.lanes),
            steps_per_s=steps * len(self.lanes) / cost,
            cpu_seconds=cost if on_cpu else None,
        )
        scalars, errors = {}, []
        for run in batch.runs:
            left = columns[self.lanes.index(run)]
            scalars[run.seed] = final_metrics(batch, self.host, left, timing)
            update = {
                "status": "finished",
                "step": steps,
                "checkpoint": None,
                "timing": timing,
                "scalars": scalars[run.seed],
                "metrics": {metric.name: metric.definition() for metric in batch.metrics},
            }
            record = self.record.model_copy(update=update)
            store = partial(self.store.finish, run, record, left)
            try:
                self.when_there_is_room(store)
            except StorageError as error:
                if error.full:
                    raise
                errors.append(error)  # the others may still be stored
        if errors:
            raise errors[0]
        if self.record.checkpoint is not None:
            with suppress(StorageError):  # the runs are stored; a leftover checkpoint does no harm
                tidy(self.store.at(self.record.checkpoint.folder), self.store, self.lanes)
        self.report(Finished(batch, spent.seconds, scalars))

    def _notify(self, text: str) -> None:
        self.report(Notice(self.batch, text))

    def _write_running(self, step: int) -> None:
        errors = []
        for run in self.batch.runs:
            try:
                self.store.write(run, self.record.model_copy(update={"step": step}))
            except StorageError as error:  # the others are written all the same
                errors.append(error)
        if errors:
            raise errors[0]

    def _saved(self, folder: Folder, step: int) -> Saved:
        return Saved(folder="/".join(folder.names), step=step)
