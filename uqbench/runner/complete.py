"""Completing a plan: everything of it that is missing is executed."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from uqbench.amounts import count, duration
from uqbench.identity import DeviceKind, Run
from uqbench.registry.plugins import Host
from uqbench.results.store import TO_DO, RunState, Store
from uqbench.runner import events
from uqbench.runner.batching.batches import BatchGroup, make_batch_groups
from uqbench.runner.batching.speeds import Speeds
from uqbench.runner.checkpoints import CHECKPOINT_SECONDS
from uqbench.runner.estimates import estimate
from uqbench.runner.executors.limits import Limits
from uqbench.runner.executors.local import NO_LIMITS, run_locally
from uqbench.runner.life_cycle import call_hooks
from uqbench.runner.spread import cores, measure_methods, spread
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
        workers: number of processes; None for one per core, or one on a GPU.
        checkpoint_seconds: between two checkpoints of a batch; 0 for none.
        limits: of each run.
    """

    host: Host
    device: DeviceKind
    store: Store
    watcher: Watcher
    workers: int | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    limits: Limits = NO_LIMITS


def complete(plan: Plan, execution: Execution) -> dict[Run, RunState]:
    """Do what is missing of a plan; return the states of its runs.

    Runs that another process works on are waited for.
    """
    store, device, watcher = execution.store, execution.device, execution.watcher
    workers = execution.workers
    states = stored_states(plan, store)
    announce(plan, states, store, watcher)
    todo = to_do(states)
    speeds = Speeds(store.root)
    tried: set[Run] = set()
    while True:
        todo -= tried
        if todo:
            checkpoints = _checkpoints(todo, store)
            measure_methods(plan, todo, device, workers or cores(), store, speeds, watcher)
            alone = estimate(plan, todo, store, 1, speeds.of(plan))
            chosen = spread(plan, todo, device, workers, alone, watcher)
            groups = make_batch_groups(plan, todo, device, chosen.lanes, checkpoints)
            team = min(chosen.processes, len(groups))
            expected = estimate(plan, todo, store, team, speeds.of(plan))
            watcher.say(
                f"On {device}, {count(team, 'process')}: about {duration(expected.seconds)} "
                f"(from {expected.basis}). Safe to interrupt; run again to resume."
            )
            tried |= _execute(groups, team, expected.core_seconds, execution)
        left = {run: store.read(run.folder).state for run in plan.runs}
        todo = {run for run, state in left.items() if state in TO_DO} - tried
        running = [run for run, state in left.items() if state is RunState.RUNNING]
        if not todo and not running:
            return left
        if not todo:
            watcher.say(f"Waiting for {count(len(running), 'run')} of another process.")
            _wait_for_any(running, store)


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


def _execute(
    groups: Sequence[BatchGroup],
    workers: int,
    core_seconds: Mapping[Run, float],
    execution: Execution,
) -> set[Run]:
    """Execute; return the runs that were tried, whether they finished or failed."""
    tried: set[Run] = set()
    complaints: dict[str, None] = {}
    root, every, limits = execution.store.root, execution.checkpoint_seconds, execution.limits
    with (
        execution.watcher.watch(groups, core_seconds, workers) as show,
        closing(run_locally(groups, root, workers, every, limits)) as executed,
    ):
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
