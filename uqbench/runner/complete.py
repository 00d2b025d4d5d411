"""Completing a plan: everything of it that is missing is executed."""

import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from uqbench.contract.identity import DeviceKind, Run
from uqbench.contract.wording import count
from uqbench.registry.plugins import Host
from uqbench.results.store import RunState, Store
from uqbench.runner import events
from uqbench.runner.batches import BatchGroup, default_lanes, lanes_elsewhere, make_batch_groups
from uqbench.runner.device import cores, share_out, visible
from uqbench.runner.drive import Driver, runs_in
from uqbench.runner.first_failures import FirstFailures
from uqbench.runner.forecast import Forecast, StepCosts
from uqbench.runner.resume import failed
from uqbench.runner.states import code_note, describe, stored_states, to_do, without_record
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Execution:
    """The place and the way in which runs are executed.

    Attributes:
        host: the plugins.
        device: kind of device that computes.
        store: of the runs.
        watcher: shows what happens.
        workers: number of processes; None for one per core, or one on a GPU. Elsewhere: most
            batches at once; None for as many as there is room for.
        driver: has batches executed.
        persistent: whether the store outlives the command.
    """

    host: Host
    device: DeviceKind
    store: Store
    watcher: Watcher
    workers: int | None
    driver: Driver
    persistent: bool = True

    @property
    def processes(self) -> int | None:
        """Processes here, or, elsewhere, most batches at once; None for as many as there is room.

        Raises:
            UqbenchError: a process takes more than one GPU.
        """
        if self.driver.elsewhere:
            return self.workers
        if self.device == "cuda":
            return len(share_out(visible(), self.driver.where.resources.gpus, self.workers)) or 1
        return self.workers or cores()

    def groups(self, plan: Plan, todo: Collection[Run]) -> list[BatchGroup]:
        """The batches of the runs to do; those that share a checkpoint are together again.

        Runs that are trained are judged one by one. On a CPU batches have as many lanes as the
        budget says, or by default. This decides how long runs take, never what they compute.
        """
        records = {run: self.store.read(run.folder).record for run in todo}
        checkpoints = {
            run: run.place if record.checkpoint is None else record.checkpoint.folder
            for run, record in records.items()
            if record is not None and (record.checkpoint is not None or record.trained)
        }
        lanes = plan.budget.lanes
        if lanes is None and self.driver.elsewhere:
            lanes = lanes_elsewhere(len(todo), self.workers)
        elif lanes is None:
            lanes = default_lanes(len(todo), self.processes or 1)
        return make_batch_groups(plan, todo, self.device, lanes, checkpoints)


def complete(plan: Plan, execution: Execution, board: StepCosts) -> dict[Run, RunState]:
    """Do what is missing of a plan; return the states of its runs.

    Runs that another process works on are waited for. Batches that an earlier command submitted are
    followed. Where the executor does not wait, what is missing is submitted, and no more.

    Args:
        plan: the runs.
        execution: where and how they are executed.
        board: what a step of a stored board's runs cost.

    Raises:
        UqbenchError: a logger is unknown, or what it needs is not installed.
    """
    store, watcher, driver = execution.store, execution.watcher, execution.driver
    states, kept = stored_states(plan, store), execution.persistent
    watcher.say(*describe(plan, states, store, kept), *filter(None, [code_note(states.values())]))
    todo, tried = to_do(states, plan.stage), set[Run]()
    before = driver.submitted(plan)
    if before:
        watcher.say(f"Following {count(len(before), 'job')} submitted before.")
        todo -= runs_in(before)
    while True:
        todo -= tried
        if todo or before:
            groups = execution.groups(plan, todo)
            if submitted := driver.leave(plan, groups, execution.workers):
                watcher.say(submitted)
                return {run: store.read(run.folder).state for run in plan.runs}
            at_once = min(execution.processes or len(plan.runs), len(groups) + len(before))
            expected = Forecast(plan, todo | runs_in(before), store, board)
            end = "Safe to interrupt; run again to resume." if kept else "Nothing is kept."
            noun, how = ("job", " at once, once begun") if driver.elsewhere else ("process", "")
            watcher.say(f"On {execution.device}, {count(at_once, noun)}{how}. {end}")
            workers = execution.workers if driver.elsewhere else at_once
            executed = driver.execute(plan, groups, workers, before)
            everything = [*groups, *(group for _, group in before)]
            done = _follow(executed, everything, at_once, expected, execution)
            tried |= done - runs_in(before)
            before = ()
        stored = {run: without_record(store.read(run.folder)) for run in plan.runs}
        todo = to_do(stored, plan.stage) - tried
        left = {run: of.state for run, of in stored.items()}
        running = [run for run, state in left.items() if state is RunState.RUNNING]
        if not todo and not (running and driver.waits):
            return left
        if not todo:
            watcher.say(f"Waiting for {count(len(running), 'run')} of another process.")
            while all(store.read(run.folder).state is RunState.RUNNING for run in running):
                time.sleep(1)


def preview(plan: Plan, todo: set[Run], execution: Execution) -> str:
    """The text of what would be submitted; empty where processes are started."""
    return execution.driver.preview(plan, execution.groups(plan, todo), execution.workers)


def _follow(
    executed: Generator[events.Event, None, None],
    groups: Sequence[BatchGroup],
    workers: int,
    expected: Forecast,
    execution: Execution,
) -> set[Run]:
    """Show what happens; return the runs that were tried, whether they finished or failed."""
    tried: set[Run] = set()
    complaints: dict[str, None] = {}
    first = FirstFailures(() if execution.driver.elsewhere else groups)
    watched = execution.watcher.watch(groups, expected, workers)
    with watched as show, closing(executed):
        for event in executed:
            show(event)
            complaints |= dict.fromkeys(_call_hooks(execution.host, event))
            if isinstance(event, events.Finished | events.Failed):
                tried |= set(event.batch.runs)
            why = "the disk is full" if isinstance(event, events.Failed) and event.full else ""
            if reason := first.common_reason(event):
                why = f"all that was begun failed for one reason, {reason}"
                for batch, own in first.failed.values():
                    failed(batch, execution.store, own)
            if why:
                doctor = "; uqbench doctor looks for what is wrong here" if reason else ""
                complaints[f"{why}; what was left was not tried{doctor}"] = None
                tried |= {run for group in groups for batch in group for run in batch.runs}
                break
    for complaint in complaints:
        execution.watcher.say(f"uqbench: {complaint}")
    return tried


def _call_hooks(host: Host, event: events.Event) -> Iterator[str]:
    """Call the hooks that an event has; yields a message for each plugin that failed in one."""
    trained = isinstance(event, events.Finished) and not event.scalars  # it has an end to come
    if trained or isinstance(event, events.Split | events.Taken | events.Notice):
        return
    for run in event.batch.runs:
        more: dict[str, object] = {}
        match event:
            case events.Progress():
                more = {"step": event.step, "metrics": event.metrics.get(run.seed, {})}
            case events.Finished():
                more = {"scalars": event.scalars.get(run.seed, {})}
            case events.Failed():
                more = {"reason": event.reason}
        yield from host.call_hook(f"uqbench_run_{event.kind}", run=run, **more)
