"""The runs of a batch, from their first step or a checkpoint to the store.

A run has two stages. *Trained*: its agent and what was measured on the way are stored, durable by
themselves. *Judged*: the agent is asked and evaluated, here or elsewhere, now or later, and the run
is finished. An estimator's is one stage: it has no state (:class:`uqbench.contract.estimator`).
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

import torch

from uqbench.contract.errors import CannotSaveError, StorageError, UqbenchError, located
from uqbench.contract.identity import Run
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.records import Resumed, RunRecord, Saved, Timing
from uqbench.results.store import Store, now, this_process
from uqbench.results.tables import AGENT, TRAINING, RunColumns
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
from uqbench.runner.train.agents import Training, random_agent, train_loop_agent, untrained
from uqbench.runner.train.estimators import fit_estimator
from uqbench.runner.train.exported_agents import load
from uqbench.runner.train.measurements import Latest, Measurements
from uqbench.runner.train.proof import LoopProof
from uqbench.uncertainty.scores import rule_versions

REPORT_SECONDS = 0.5
RECORD_SECONDS = 600.0
"""Between two records of the steps; a checkpoint has its own, and the order's progress is newer.

A record is flushed to disk, one for each lane: every minute, five hundred lanes would take more
than ten flushes a second.
"""


class NotMadeError(Exception):
    """The environment of a batch cannot be made; its message is the reason."""


class BatchWork:
    """The runs of a batch, locked by this process, from their first step or a checkpoint on.

    Attributes:
        record: of each run, as it began; its identity, step and checkpoint are added.
        saved: the checkpoint that the records name.
        trained: the records of runs whose training is stored.
        learning: of each lane, the proof that it learned, once it is judged.
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
    ) -> None:
        self.batch, self.store, self.host, self.report = batch, store, host, report
        self.watch, self.device = watch, torch.device(batch.device)
        self.blank = self.record = blank_record(plugins_of(batch, host), device_name(self.device))
        self.saved: Saved | None = None
        self.lanes, self.trained = batch.runs, dict[Run, RunRecord]()
        self.learning: list[dict[str, float]] = []

    def steps(self, checkpoint_seconds: float, stop: Stop) -> Iterator[None]:
        """Do the work, yielding after every step; start over if what is stored cannot be used.

        Raises:
            UqbenchError: the runs are to be judged alone, and their training cannot be used.
        """
        runs, wrong = self.batch.runs, None
        stored = self.store.read(runs[0].folder).record
        try:
            if stored is not None and stored.trained:
                self._judge_stored(stored)
                return
            origin = find_resume_point(runs, self.store, self.blank.provenance)
            about = self.begin(origin)
            columns, spent = yield from self._compute(about, origin, checkpoint_seconds, stop)
        except UnusableError as error:
            if self.batch.stage == "judge":
                raise
            wrong = str(error)
        if wrong is not None:  # outside of the handler, which keeps what failed in memory
            self._notify(f"starting over: {wrong}")
            named = named_in((run.folder for run in runs), self.store)
            about = self.begin(None)
            for folder in filter(None, named):
                with suppress(StorageError):  # another run may name it: it stays
                    tidy(folder, self.store)
            columns, spent = yield from self._compute(about, None, checkpoint_seconds, stop)
        if columns is None:
            self.report(Finished(self.batch, spent.seconds, {}))
        else:
            self.finish(columns, self.timing(spent))

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
        self._write_running(step)
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
    ) -> Generator[None, None, tuple[list[RunColumns] | None, Spent]]:
        """The columns of each lane, and the time of their own steps, by kind of method.

        No columns where the runs are trained, to be judged later.
        """
        batch, began = self.batch.of(self.lanes), self.watch.spent
        if batch.cell.method.estimator is not None:
            self._not_kept("an estimator has no state")
            fitted = fit_estimator(batch, self.host, self.device, self._notify)
            return fitted, self.watch.spent.plus(began, -1)
        measured, on_step = self._measurements(batch), self._on_step(about.step)
        if batch.cell.owns_loop:
            proof = LoopProof(measured)
            try:
                agent, files = train_loop_agent(batch, self.host, measured, on_step, proof)
                goes_on = self._keep(files, self.watch.spent.plus(began, -1), checkpoint_seconds)
                columns = measured.judged(agent) if goes_on else None
            finally:
                proof.stop()
            spent = self.watch.spent.plus(began, -1)  # the proof is no cost of the run
            self.learning = [proof.found(partial(random_agent, batch, measured))] if goes_on else []
            return columns, spent
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
                agent, files = training.ended()
                goes_on = self._keep(files, checkpointer.spent, checkpoint_seconds)
            columns = measured.judged(agent) if goes_on else None
            spent = checkpointer.spent  # the proof is no cost of the runs
            self.learning = training.learning() if goes_on else self.learning
        except (UnusableError, StorageError, GeneratorExit):
            raise  # the checkpoint is not to blame, or the caller handles it
        except BaseException as error:
            if not (isinstance(error, SystemExit) and stop.asked):
                self._forget_checkpoint()  # it would recur: its cause may be in the saved state
            raise
        return columns, spent

    def _checkpointer(
        self, about: Checkpoint, origin: ResumePoint | None, every: float, stop: Stop
    ) -> Checkpointer:
        """Writes the lanes' checkpoints, and their records where these have to name another."""
        folder = self.store.checkpoint_folder(self.batch.runs[0])

        def written(step: int) -> None:
            before, self.saved = self.saved, _saved(folder, step)
            if before is None or before.folder != self.saved.folder or stop.asked:
                self._write_running(step)
            if origin is not None and origin.folder != folder:
                tidy(origin.folder, self.store, self.lanes)

        return Checkpointer(folder, about, self.watch, every, stop, written, self._notify)

    def _measurements(self, batch: Batch) -> Measurements:
        """The measurements of a batch, and its environment.

        Raises:
            NotMadeError: the environment cannot be made.
        """
        try:
            return Measurements(batch, self.host, self.device)
        except torch.OutOfMemoryError:
            raise  # fewer lanes may fit
        except Exception as error:  # a plugin may raise anything
            raise NotMadeError(located(error)) from error

    def _keep(
        self, make: Callable[[], list[dict[str, bytes]]], spent: Spent, checkpoint_seconds: float
    ) -> bool:
        """Store the training of the runs, if it can be; return whether they are judged now."""
        budget, only = self.batch.budget, self.batch.stage == "train"
        takes_long = budget.evaluation is not None or budget.queries is not None
        if not (only or self.batch.keep_agents or (checkpoint_seconds and takes_long)):
            return True
        try:
            files = make()
        except CannotSaveError as error:
            self._not_kept(error)
            return True
        done = {"step": budget.steps, "timing": self.timing(spent)}
        record = self.record.model_copy(update=done)

        def store(run: Run) -> None:
            self.trained[run] = self.store.train(run, record, files[self.lanes.index(run)])

        _each(store, self.batch.runs)
        self._forget_checkpoint(stored=True)
        return not only

    def _not_kept(self, why: object) -> None:
        """Tell who asked for the training of the runs that it is not stored."""
        only = self.batch.stage == "train"
        if only or self.batch.keep_agents:
            how = "--train-only: judged at once" if only else "--keep-agents: not kept"
            self._notify(f"{how}: {why}")

    def _judge_stored(self, stored: RunRecord) -> None:
        """Judge the run, which is trained: in this process, earlier, or elsewhere.

        Raises:
            UnusableError: its training is damaged.
        """
        (run,), device, began = self.batch.runs, self.blank.provenance.device, self.watch.spent
        here = Resumed(step=stored.step, when=now(), host=this_process().host, device=device)
        again = {"process": this_process(), "resumed": (*stored.resumed, here)}
        ended = {"status": "running", "reason": None, "traceback": None}
        self.trained[run] = self.record = stored.model_copy(update=again | ended)
        timing = stored.timing
        assert timing is not None
        self.report(Started(self.batch, stored.step, timing.seconds / timing.lanes))
        measured, folder = self._measurements(self.batch), self.store.at(run.place)
        agent = untrained(self.batch, self.host, measured.env)
        load(agent.load_state_dict, folder, AGENT, stored, self.batch.device)
        load(measured.restore, folder, TRAINING, stored, "cpu")
        self.store.write(run, self.record)
        columns = measured.judged(agent)
        own = self.watch.spent.plus(began, -1)
        if not stored.scalars and run.identity["device"] == self.batch.device:
            lanes, spent = timing.lanes, timing.cpu_seconds or 0.0
            together = timing.seconds + lanes * own.seconds, spent + lanes * own.cpu_seconds
            timing = self.timing(Spent(*together), lanes)  # as if all its lanes had been judged
        self.finish(columns, timing)

    def _forget_checkpoint(self, *, stored: bool = False) -> None:
        """Remove the checkpoint, and name none, as far as that is possible.

        Args:
            stored: whether the runs are, so that their records name none, and need none.
        """
        if (saved := self.saved) is not None:
            self.saved = None
            with suppress(UqbenchError):  # a leftover does no harm; an error that led here is told
                if not stored:
                    self._write_running(saved.step)
                tidy(self.store.at(saved.folder), self.store, self.lanes)

    def _on_step(self, first: int) -> Callable[[int, Latest], None]:
        """Report progress since step ``first``, and rewrite the records now and then."""
        reported = beaten = time.monotonic()
        began, warned = self.watch.spent, False

        def on_step(step: int, latest: Latest) -> None:
            nonlocal reported, beaten, warned
            clock = time.monotonic()
            if clock - reported >= REPORT_SECONDS:
                reported, spent = clock, self.watch.spent.plus(began, -1)
                took = spent.cpu_seconds if self.device.type == "cpu" else spent.seconds
                for part in self.batch.parts:
                    places = [(run.seed, self.lanes.index(run)) for run in part.runs]
                    shown = {k: {n: float(v[at]) for n, v in latest.items()} for k, at in places}
                    self.report(Progress(part, step, took, shown, first))
            if clock - beaten >= RECORD_SECONDS:
                beaten = clock
                try:
                    self._write_running(step)
                except StorageError as error:  # only `uqbench status` reads it
                    if not warned:
                        warned = True
                        self._notify(f"the run continues, but {error}")

        return on_step

    def timing(self, spent: Spent, lanes: int | None = None) -> Timing:
        """The cost of the runs, whose ``lanes`` took so long together."""
        lanes, on_cpu = lanes or len(self.lanes), self.device.type == "cpu"
        cost = spent.cpu_seconds if on_cpu else spent.seconds
        return Timing(
            seconds=spent.seconds,
            lanes=lanes,
            steps_per_s=self.batch.budget.steps * lanes / cost,
            cpu_seconds=cost if on_cpu else None,
        )

    def finish(self, columns: Sequence[RunColumns], timing: Timing) -> None:
        """Store the runs, and remove their checkpoint."""
        batch, steps = self.batch, self.batch.budget.steps
        metrics = {metric.name: metric.definition() for metric in batch.metrics}
        done = {"status": "finished", "step": steps, "timing": timing, "metrics": metrics}
        done["score_versions"] = rule_versions(batch.metrics)
        keep = batch.keep_agents or self.record.scalars  # those of a run that is judged again
        scalars: dict[str, dict[int, Mapping[str, float | None]]] = {}

        def store(run: Run) -> None:
            lane = self.lanes.index(run)
            left = columns[lane]
            done["learning"] = self.learning[lane] if self.learning else self.record.learning
            of, speed = batch.of([run]), timing.steps_per_s
            own = final_metrics(of.metrics, of.cell.task, of.budget, left, self.host, speed)
            kept = self.trained[run].digests if keep and run in self.trained else {}
            record = self.record.model_copy(update={**done, "scalars": own, "digests": kept})
            self.store.finish(run, record, left)
            scalars.setdefault(run.task, {})[run.seed] = own

        _each(store, batch.runs)
        self._forget_checkpoint(stored=True)
        for part in batch.parts:
            self.report(Finished(part, timing.seconds, scalars[part.cell.task.name]))

    def _notify(self, text: str) -> None:
        self.report(Notice(self.batch, text))

    def _write_running(self, step: int) -> None:
        record = self.record.model_copy(update={"step": step, "checkpoint": self.saved})
        _each(lambda run: self.store.write(run, record), self.batch.runs)


def _each(write: Callable[[Run], object], runs: Sequence[Run]) -> None:
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
