"""Completing a plan: everything of it that is missing is executed."""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

from uqbench.amounts import count, duration
from uqbench.identity import DeviceKind, Run
from uqbench.registry.plugins import Host
from uqbench.results.store import TO_DO, RunState, Store
from uqbench.runner import events
from uqbench.runner.batching.autotune import elsewhere
from uqbench.runner.batching.batches import BatchGroup, make_batch_groups
from uqbench.runner.batching.gpus import share_out, visible
from uqbench.runner.batching.speeds import Speeds
from uqbench.runner.dispatch.drive import Driver, runs_in
from uqbench.runner.estimates import Estimate, estimate
from uqbench.runner.lane_tuning import cores, measure_methods, spread
from uqbench.runner.life_cycle import call_hooks
from uqbench.runner.loggers import logging
from uqbench.runner.rerun import code_note
from uqbench.runner.states import announce, stored_states, to_do
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Execution:
    """Where and how runs are executed.

    Attributes:
        host: the plugins.
        device: kind of device that computes.
        store: of the runs.
        watcher: is told what happens.
        workers: number of processes; None for one per core, or one on a GPU. Elsewhere: most
            batches at once; None for as many as there is room for.
        driver: submits batches, and follows them.
        loggers: names of those that hear of the runs that are followed.
        kept: whether the store outlives the command.
    """

    host: Host
    device: DeviceKind
    store: Store
    watcher: Watcher
    workers: int | None
    driver: Driver
    loggers: tuple[str, ...] = ()
    kept: bool = True


def complete(plan: Plan, execution: Execution) -> dict[Run, RunState]:
    """Do what is missing of a plan; return the states of its runs.

    Runs that another process works on are waited for. Batches that an earlier command submitted are
    followed. Where the executor does not wait, what is missing is submitted, and no more.

    Raises:
        UqbenchError: a logger is unknown, or what it needs is not installed.
    """
    with logging(execution.host, execution.loggers, execution.store.root):
        return _complete(plan, execution)


def _complete(plan: Plan, execution: Execution) -> dict[Run, RunState]:
    store, device, watcher = execution.store, execution.device, execution.watcher
    driver = execution.driver
    workers = execution.workers
    if device == "cuda" and not driver.elsewhere:
        workers = len(share_out(visible(), driver.resources.gpus, workers))
    states = stored_states(plan, store)
    announce(plan, states, store, watcher)
    note = code_note(states.values())
    if note:
        watcher.say(note)
    todo = to_do(states)
    speeds = Speeds(store.root)
    before = driver.alive(plan)
    if before:
        watcher.say(f"Following {count(len(before), 'job')} submitted before.")
        todo -= runs_in(before)
    tried: set[Run] = set()
    while True:
        todo -= tried
        if todo or before:
            checkpoints = _checkpoints(todo, store)
            if driver.elsewhere:
                chosen = elsewhere(plan, len(todo), workers)
            else:
                measure_methods(plan, todo, device, workers or cores(), store, speeds, watcher)
                alone = estimate(plan, todo, store, 1, speeds.of(plan))
                chosen = spread(plan, todo, device, workers, alone, watcher)
            groups = make_batch_groups(plan, todo, device, chosen.lanes, checkpoints)
            if not driver.waits:
                return _submit(plan, groups, execution)
            team = min(chosen.processes, len(groups) + len(before))
            expected = estimate(plan, todo | runs_in(before), store, team, speeds.of(plan))
            watcher.say(
                f"On {device}, {_at_once(team, driver)}: about {duration(expected.seconds)} "
                f"(from {expected.basis}). "
                + ("Safe to interrupt; run again to resume." if execution.kept else "Not kept.")
            )
            asked = workers if driver.elsewhere else team
            executed = driver.execute(plan, groups, asked, before)
            everything = [*groups, *(group for _, group in before)]
            done = _follow(executed, everything, team, expected, execution)
            tried |= done - runs_in(before)
            before = []
        left = {run: store.read(run.folder).state for run in plan.runs}
        todo = {run for run, state in left.items() if state in TO_DO} - tried
        running = [run for run, state in left.items() if state is RunState.RUNNING]
        if not todo and not (running and driver.waits):
            return left
        if not todo:
            watcher.say(f"Waiting for {count(len(running), 'run')} of another process.")
            _wait_for_any(running, store)


def preview(plan: Plan, execution: Execution) -> str:
    """What would be submitted, to read; empty where processes are started."""
    if not execution.driver.elsewhere:
        return ""
    todo = to_do(stored_states(plan, execution.store))
    lanes = elsewhere(plan, len(todo), execution.workers).lanes
    checkpoints = _checkpoints(todo, execution.store)
    groups = make_batch_groups(plan, todo, execution.device, lanes, checkpoints)
    return execution.driver.preview(plan, groups, execution.workers)


def _submit(plan: Plan, groups: Sequence[BatchGroup], execution: Execution) -> dict[Run, RunState]:
    """Submit groups; return the states of the plan's runs."""
    orders = execution.driver.submit(plan, groups, execution.workers)
    execution.watcher.say(
        f"Submitted {count(len(orders), 'job')} to {execution.driver.spec.name}; the same command "
        f"with --wait follows them, uqbench status shows them."
    )
    return {run: execution.store.read(run.folder).state for run in plan.runs}


def _at_once(team: int, driver: Driver) -> str:
    return f"{count(team, 'job')} at once" if driver.elsewhere else count(team, "process")


def _checkpoints(runs: Collection[Run], store: Store) -> dict[Run, str]:
    """The checkpoint that each run resumes from, where it has one."""
    records = {run: store.read(run.folder).record for run in runs}
    return {
        run: record.checkpoint.folder
        for run, record in records.items()
        if record is not None and record.checkpoint is not None
    }


def _wait_for_any(running: Sequence[Run], store: Store) -> None:
    """Wait until one of these runs, which another process works on, stops running."""
    while all(store.read(run.folder).state is RunState.RUNNING for run in running):
        time.sleep(1)


def _follow(
    executed: Generator[events.Event, None, None],
    groups: Sequence[BatchGroup],
    workers: int,
    expected: Estimate,
    execution: Execution,
) -> set[Run]:
    """Show what happens; return the runs that were tried, whether they finished or failed."""
    tried: set[Run] = set()
    complaints: dict[str, None] = {}
    with execution.watcher.watch(groups, expected, workers) as show, closing(executed):
        for event in executed:
            show(event)
            complaints |= dict.fromkeys(call_hooks(execution.host, event))
            if isinstance(event, events.Finished | events.Failed):
                tried |= set(event.batch.runs)
            if isinstance(event, events.Failed) and event.full:
                complaints["the disk stayed full; what was left was not tried"] = None
                tried |= {run for group in groups for batch in group for run in batch.runs}
                break
    for complaint in complaints:
        execution.watcher.say(f"uqbench: {complaint}")
    return tried
