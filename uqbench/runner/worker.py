"""Executing batches, in the process that it is called in."""

from __future__ import annotations

import gc
import platform
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.config import resolve
from uqbench.errors import StorageError, UqbenchError
from uqbench.plugins import Host, Plugin
from uqbench.results.columns import Columns
from uqbench.results.provenance import provenance
from uqbench.results.record import SCHEMA_VERSION, Resumed, RunRecord, Saved, Timing
from uqbench.results.scalars import Truth, scalar
from uqbench.results.store import Claim, RunState, Store, now, this_process
from uqbench.run import Run
from uqbench.runner.batch import Batch, Program
from uqbench.runner.checkpoint import Checkpoint, UnusableError, read_state
from uqbench.runner.estimating import fit_estimator
from uqbench.runner.events import (
    Event,
    Failed,
    Finished,
    Notice,
    Progress,
    SetAside,
    Split,
    Started,
    Taken,
)
from uqbench.runner.keeping import CHECKPOINT_SECONDS, Keeper, Stop
from uqbench.runner.patience import Patience
from uqbench.runner.resuming import Origin, find_origin, named_folders, tidy
from uqbench.runner.stopwatch import Stopwatch
from uqbench.runner.training import Tick, train_agent
from uqbench.suite import Task

REPORT_SECONDS = 0.5
HEARTBEAT_SECONDS = 10.0


def execute(
    program: Program,
    store: Store,
    host: Host,
    report: Callable[[Event], None],
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    stop: Stop | None = None,
) -> None:
    """Train, evaluate and store the runs of some batches, whose steps take turns.

    A batch that raises ends with ``Split``, or, where it is of one run or the disk failed,
    ``Failed``; the others go on. Runs that another process has are left. A full disk is waited for.

    Args:
        program: what to run.
        store: where the runs are kept.
        host: the plugins.
        report: called with what happens.
        checkpoint_seconds: between two checkpoints; 0 for none.
        stop: by which the process is asked to stop.

    Raises:
        SystemExit: the process was asked to stop.
    """
    if any(batch.budget.numerics == "compiled" for batch in program):
        torch.compiler.reset()  # what was compiled for agents before, and holds on to them
        gc.collect()
    stop = stop or Stop()
    stopped = False
    turns = []
    for batch in program:
        watch = Stopwatch()
        steps = _steps(batch, store, host, report, checkpoint_seconds, stop, watch)
        turns.append((batch, _stream(batch), watch, steps))
    while turns:
        going = []
        for turn in turns:
            batch, stream, watch, steps = turn
            try:
                with stream, watch:
                    next(steps)
                going.append(turn)
            except StopIteration:
                pass
            except (SystemExit, Exception) as error:  # a plugin's is the reason of its failed runs
                if isinstance(error, SystemExit) and stop.asked:
                    stopped = True  # the others write their checkpoints too
                    continue
                reason = f"{type(error).__name__}: {error}"
                if len(batch.runs) > 1 and not isinstance(error, StorageError):
                    report(Split(batch, reason))
                else:
                    with suppress(UqbenchError):  # on a full disk it stays abandoned
                        fail(batch, store, reason, traceback.format_exc())
                    full = isinstance(error, StorageError) and error.full
                    report(Failed(batch, reason, full))
        turns = going
    if stopped:
        raise SystemExit(1)


def _stream(batch: Batch) -> AbstractContextManager[Any]:
    """A stream of its own on a GPU, so that batches overlap and their steps can be captured."""
    if batch.device == "cuda":
        return torch.cuda.stream(torch.cuda.Stream())
    return nullcontext()


def _steps(
    batch: Batch,
    store: Store,
    host: Host,
    report: Callable[[Event], None],
    checkpoint_seconds: float,
    stop: Stop,
    watch: Stopwatch,
) -> Iterator[None]:
    """Work on a batch, yielding after every step."""
    claims: list[Claim] = []
    runs = []
    patience = Patience(watch, stop, lambda text: report(Notice(batch, text)))
    try:
        for run in batch.runs:
            claim = patience.when_there_is_room(partial(store.claim, run))
            if claim is None:
                continue
            claims.append(claim)
            found = store.find(run)
            if found.unreadable:
                raise StorageError(f"{store.folder(run)}: {found.reason}")
            state = found.state
            if state is RunState.DAMAGED:
                report(SetAside(batch.of([run]), str(store.set_aside(run))))
            if state is not RunState.FINISHED:
                runs.append(run)
        others = [run for run in batch.runs if run not in runs]
        if others:
            report(Taken(batch.of(others)))
        if runs:
            work = _Work(batch.of(runs), store, host, report, watch, patience)
            yield from work.steps(checkpoint_seconds, stop)
    finally:
        for claim in claims:
            claim.release()


def fail(batch: Batch, store: Store, reason: str, trace: str | None = None) -> None:
    """Mark the runs of a batch that did not finish as failed, with the reason.

    Raises:
        StorageError: it cannot be written, as on a full disk.
    """
    for run in batch.runs:
        claim = store.claim(run)
        if claim is None:
            continue  # another process has it
        try:
            found = store.find(run)
            if found.state is RunState.FINISHED:
                continue
            record = found.record or _blank_record((), "unknown")
            _write(store, run, record, {"status": "failed", "reason": reason, "traceback": trace})
        finally:
            claim.release()


class _Work:
    """The runs of a batch, claimed by this process, from their first step or a checkpoint on.

    ``lanes`` are those that execute: the runs, and those that a checkpoint holds beside them, which
    are not stored.
    """

    def __init__(
        self,
        batch: Batch,
        store: Store,
        host: Host,
        report: Callable[[Event], None],
        watch: Stopwatch,
        patience: Patience,
    ) -> None:
        self.batch, self.store, self.host, self.report = batch, store, host, report
        self.watch, self.patience = watch, patience
        self.device = torch.device(batch.device)
        self.device_name = _device_name(self.device)
        plugins = host.with_requirements(_origins(batch, host))
        self.blank = self.record = _blank_record(plugins, self.device_name)
        self.lanes = batch.runs

    def steps(self, checkpoint_seconds: float, stop: Stop) -> Iterator[None]:
        """Do the work, yielding after every step.

        Once more from the first step where a checkpoint cannot be used.
        """
        runs = self.batch.runs
        wrong: str | None = None
        try:
            origin = find_origin(runs, self.store, self.record.provenance)
            self._begin(origin)
            columns, seconds = yield from self._compute(origin, checkpoint_seconds, stop)
        except UnusableError as error:
            wrong = str(error)
        if wrong is not None:  # outside of the handler, which keeps what failed in memory
            self.report(Notice(self.batch, f"the first step again: {wrong}"))
            wrong_folders = named_folders(runs, self.store) - {None}
            self._begin(None)
            for folder in wrong_folders:
                assert folder is not None
                with suppress(StorageError):  # whether another run names it; it may stay
                    tidy(folder, self.store)
            columns, seconds = yield from self._compute(None, checkpoint_seconds, stop)
        self._finish(columns, seconds)

    def _begin(self, origin: Origin | None) -> None:
        """Put down in the runs' records that they begin, or go on."""
        step, self.lanes, self.record = 0, self.batch.runs, self.blank
        if origin is not None:
            step, self.lanes = origin.about.step, origin.lanes
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
        self.patience.when_there_is_room(partial(self._write_running, step))
        self.report(Started(self.batch, step))

    def _compute(
        self, origin: Origin | None, checkpoint_seconds: float, stop: Stop
    ) -> Generator[None, None, tuple[list[tuple[Columns, Columns]], float]]:
        """The metrics and episodes of each lane, and the wall time of their own turns."""
        batch, device = self.batch.of(self.lanes), self.device
        if batch.cell.method.estimator is not None:
            began = self.watch.seconds
            return fit_estimator(batch, self.host, device), self.watch.seconds - began
        folder = self.store.checkpoint_folder(self.batch.runs[0])
        if checkpoint_seconds and self.store.is_linked(folder):
            self.report(Notice(self.batch, f"no checkpoints: {folder} lies behind a symbolic link"))
            checkpoint_seconds = 0.0
        about = Checkpoint(
            seeds=tuple(run.seed for run in self.lanes),
            runs=tuple(run.digest for run in self.lanes),
            step=0 if origin is None else origin.about.step,
            seconds=0.0 if origin is None else origin.about.seconds,
            began=self.record.began,
            provenance=self.record.provenance,
            resumed=self.record.resumed,
        )

        def written(step: int) -> None:
            self.record = self.record.model_copy(update={"checkpoint": self._saved(folder, step)})
            self.patience.when_there_is_room(partial(self._write_running, step))
            if origin is not None and origin.folder != folder:
                tidy(origin.folder, self.store, self.lanes)

        def tell(text: str) -> None:
            self.report(Notice(self.batch, text))

        keeper = Keeper(folder, about, self.watch, checkpoint_seconds, stop, written, tell)
        saved = None
        if origin is not None:
            saved = partial(read_state, origin.folder, origin.about, device)
        try:
            columns = yield from train_agent(
                batch, self.host, device, self._ticker(), keeper, saved
            )
        except (UnusableError, StorageError):
            raise  # nothing is wrong with the checkpoint, or the caller sees to it
        except Exception:  # it would come to the same again: what led to it may be in the state
            self._drop_checkpoint()
            raise
        return columns, keeper.seconds

    def _ticker(self) -> Tick:
        """Reports progress and writes the records now and then."""
        began = reported = beaten = time.monotonic()
        told = False

        def tick(step: int, latest: Mapping[str, NDArray[np.float64]]) -> None:
            nonlocal reported, beaten, told
            clock = time.monotonic()
            if clock - reported >= REPORT_SECONDS:
                reported = clock
                by_seed = {
                    run.seed: {
                        name: float(values[self.lanes.index(run)])
                        for name, values in latest.items()
                    }
                    for run in self.batch.runs
                }
                self.report(Progress(self.batch, step, clock - began, by_seed))
            if clock - beaten >= HEARTBEAT_SECONDS:
                beaten = clock
                try:
                    self._write_running(step)
                except StorageError as error:  # for those who look: nothing depends on it
                    if not told:
                        told = True
                        self.report(Notice(self.batch, f"it goes on, but {error}"))

        return tick

    def _finish(self, columns: Sequence[tuple[Columns, Columns]], seconds: float) -> None:
        """Store the runs; their checkpoint is not needed any more."""
        batch, steps = self.batch, self.batch.budget.steps
        timing = Timing(
            seconds=seconds,
            lanes=len(self.lanes),
            steps_per_s=steps * len(self.lanes) / seconds,
        )
        scalars, errors = {}, []
        for run in batch.runs:
            metrics, episodes = columns[self.lanes.index(run)]
            scalars[run.seed] = _scalars(batch, self.host, metrics, episodes, timing)
            update = {
                "identity": dict(run.identity),
                "status": "finished",
                "step": steps,
                "updated": now(),
                "checkpoint": None,
                "timing": timing,
                "scalars": scalars[run.seed],
                "metrics": {metric.name: metric.definition() for metric in batch.metrics},
            }
            record = self.record.model_copy(update=update)
            store = partial(self.store.finish, run, record, metrics, episodes)
            try:
                self.patience.when_there_is_room(store)
            except StorageError as error:
                if error.full:
                    raise
                errors.append(error)  # the others may be stored all the same
        if errors:
            raise errors[0]
        if self.record.checkpoint is not None:
            with suppress(StorageError):  # the runs are stored; a checkpoint may be left over
                tidy(self.store.root / self.record.checkpoint.folder, self.store, self.lanes)
        self.report(Finished(batch, seconds, scalars))

    def _write_running(self, step: int) -> None:
        errors = []
        for run in self.batch.runs:
            try:
                _write(self.store, run, self.record, {"step": step})
            except StorageError as error:  # the others are written all the same
                errors.append(error)
        if errors:
            raise errors[0]

    def _saved(self, folder: Path, step: int) -> Saved:
        return Saved(folder=folder.relative_to(self.store.root).as_posix(), step=step)

    def _drop_checkpoint(self) -> None:
        saved = self.record.checkpoint
        if saved is not None:
            self.record = self.record.model_copy(update={"checkpoint": None})
            with suppress(UqbenchError):  # what is wrong is the error that led here
                self._write_running(saved.step)
                tidy(self.store.root / saved.folder, self.store, self.lanes)


def _scalars(
    batch: Batch, host: Host, metrics: Columns, episodes: Columns, timing: Timing
) -> dict[str, float | None]:
    """A run's final value of every metric that its budget gives."""
    values: dict[str, float | None] = {}
    truth = _truth(batch.cell.task, host)
    for metric in batch.metrics:
        given = metric.kind != "evaluation" or batch.budget.evaluation
        if not metric.suits(batch.cell.task) or not given:
            continue
        if metric.kind == "cost":
            values[metric.name] = timing.steps_per_s
            continue
        measure = host.risk_measures[metric.risk].load_config()
        risk = resolve(measure, metric.risk_config, where=f"metrics.{metric.name}")
        values[metric.name] = scalar(metric, risk, episodes, metrics, batch.budget.steps, truth)
    return values


def _truth(task: Task, host: Host) -> Truth:
    """What the task's environment states of the best policy."""
    if task.environment is None:
        return Truth()
    spec = host.environments[task.environment]
    options = resolve(spec.load_config(), task.options, where=f"tasks.{task.name}.options")
    return Truth(
        episode=None if spec.optimal_return is None else spec.optimal_return(options),
        step=None if spec.optimal_reward is None else spec.optimal_reward(options),
    )


def _origins(batch: Batch, host: Host) -> list[Plugin]:
    """The plugins that a batch's task, method and metrics come from."""
    task, method = batch.cell.task, batch.cell.method
    origins = [host.risk_measures.origin(metric.risk) for metric in batch.metrics]
    if task.environment is not None:
        origins.append(host.environments.origin(task.environment))
    if task.dataset is not None:
        origins.append(host.datasets.origin(task.dataset))
    if method.agent is not None:
        origins.append(host.agents.origin(method.agent))
    if method.estimator is not None:
        origins.append(host.estimators.origin(method.estimator))
    return origins


def _write(store: Store, run: Run, record: RunRecord, update: dict[str, Any]) -> None:
    common = {
        "schema_version": SCHEMA_VERSION,
        "identity": dict(run.identity),
        "updated": now(),
    }
    store.write(run, record.model_copy(update=common | update))


def _blank_record(plugins: Sequence[Plugin], device: str) -> RunRecord:
    return RunRecord(
        identity={},
        status="running",
        step=0,
        began=now(),
        updated=now(),
        process=this_process(),
        provenance=provenance(plugins, device),
    )


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.processor() or platform.machine()}, numpy {np.__version__}"
