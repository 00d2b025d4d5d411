"""``uqbench run``: do what is missing of a suite, and show the leaderboard."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import (
    MOST_SEEDS,
    Selection,
    count,
    load_host,
    out_option,
    selection_options,
)
from uqbench.cli.terminal import say
from uqbench.cli.where import where_options
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from uqbench.cli.eta import Estimate
    from uqbench.cli.stored import StoredBoard
    from uqbench.identity import DeviceKind, Run
    from uqbench.registry.plugins import Host
    from uqbench.results.store import RunState, Store, StoredRun
    from uqbench.runner.batching.autotune import Arrangement
    from uqbench.runner.batching.batches import BatchGroup
    from uqbench.runner.batching.speeds import Speeds
    from uqbench.runner.dispatch.drive import Driver, Where
    from uqbench.runner.events import Event
    from uqbench.suites.plan import Plan


@click.command()
@selection_options
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to compute; auto takes a GPU if there is one.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes; one per core by default, one on a GPU.",
)
@where_options
@out_option
@click.option("--cancel", is_flag=True, help="Cancel what an earlier command submitted, and stop.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and stop.")
@click.option(
    "--until-decided",
    is_flag=True,
    help="Double the seeds of what claims (or ranks) leave open, until they are decided.",
)
@click.option(
    "--max-seeds",
    type=click.IntRange(3, MOST_SEEDS),
    metavar="N",
    help="Seeds of --until-decided at most; 40 by default.",
)
@click.option(
    "--beside",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="BOARDS",
    help="Show the runs in the leaderboard that is stored below this folder.",
)
def command(
    selection: Selection,
    device: str,
    workers: int | None,
    where: Where,
    out: Path,
    cancel: bool,
    dry_run: bool,
    until_decided: bool,
    max_seeds: int | None,
    beside: Path | None,
) -> int:
    """Run a suite: do what is missing, then print its leaderboard.

    Safe to interrupt at any moment: run it again, and it does only what is missing. Unfinished runs
    resume from their last checkpoint, also on another machine that has a copy of --out. A run that
    exceeds a limit fails with that reason, and the others continue.

    \b
    Examples:
      uqbench run --suite minatar
      uqbench run --suite minatar --budget smoke --methods qr-dqn --seed 3
      uqbench run --suite windy-cliff --budget paper --until-decided --max-seeds 60
      uqbench run --suite minatar --budget cpu --methods mine --beside leaderboards
      uqbench run --suite minatar --budget paper --device cuda --executor slurm --slurm time=240
    """
    from uqbench.cli.beside import read_beside
    from uqbench.cli.until_decided import DEFAULT_SEEDS, run_until_decided
    from uqbench.results.store import RunState, Store
    from uqbench.runner.dispatch.drive import Driver

    host = load_host()
    driver = Driver(where, host, out)
    kind = _device(device, where, driver)
    store = Store(out)
    execute = partial(
        complete, host=host, kind=kind, store=store, workers=workers, driver=driver,
        dry_run=dry_run,
    )  # fmt: skip
    plan = selection.plan(host, kind)
    if not dry_run:
        note = store.prepare(shared=driver.spec.elsewhere)
        if note:
            say(f"Runs are locked by leases: {note}.", err=True)
    if cancel:
        orders = [order for order, _ in driver.alive(plan)]
        driver.cancel(orders)
        say(f"Canceled {count(len(orders), 'job')}; run again to resume.", err=True)
        return 0
    if until_decided and not driver.waits:
        raise UqbenchError(
            f"--until-decided follows its runs: add --wait to --executor {where.executor}."
        )
    if until_decided:
        if selection.seeds is not None or dry_run or beside is not None:
            raise UqbenchError(
                "--until-decided chooses the seeds as it goes: leave out --seeds, --seed, "
                "--dry-run and --beside; --max-seeds limits the seeds."
            )
        return run_until_decided(selection, max_seeds or DEFAULT_SEEDS, host, kind, store, execute)
    if max_seeds is not None:
        raise UqbenchError("--max-seeds goes with --until-decided; --seeds N runs N seeds.")
    stored = None if beside is None else read_beside(selection, plan, host, beside)
    states = execute(plan)
    finished = set(states.values()) == {RunState.FINISHED}
    if dry_run or not (driver.waits or finished):
        return 0
    _show(plan, store, stored, host)
    return 0 if finished else 1


def complete(
    plan: Plan,
    *,
    host: Host,
    kind: DeviceKind,
    store: Store,
    workers: int | None,
    driver: Driver,
    dry_run: bool = False,
) -> dict[Run, RunState]:
    """Do what is missing of a plan, or say it; return the states of its runs."""
    from uqbench.cli.eta import duration, estimate
    from uqbench.results.store import TO_DO, RunState
    from uqbench.runner.batching.autotune import elsewhere
    from uqbench.runner.batching.batches import make_batch_groups
    from uqbench.runner.batching.speeds import Speeds
    from uqbench.runner.dispatch.drive import runs_in

    out = store.root
    states = {run: store.find(run) for run in plan.runs}
    newer = [run for run, found in states.items() if found.state is RunState.NEWER]
    if newer:
        raise UqbenchError(
            f"{out / newer[0].folder}: {states[newer[0]].reason}: update uqbench, or use another "
            f"--out."
        )
    todo = _announce(plan, states, out)
    speeds = Speeds(out)
    if dry_run:
        alone = estimate(plan, todo, store, 1, speeds.of(plan))
        say(*_by_method(plan, todo, alone, speeds).splitlines(), err=driver.spec.elsewhere)
        if driver.spec.elsewhere:
            lanes = elsewhere(plan, len(todo), workers).lanes
            groups = make_batch_groups(plan, todo, kind, lanes)
            say(*driver.preview(plan, groups, workers).splitlines())
        return {run: found.state for run, found in states.items()}
    tried: set[Run] = set()
    before = driver.alive(plan)
    if before:
        say(f"Following {count(len(before), 'job')} submitted before.", err=True)
        todo -= runs_in(before)
    while True:
        todo -= tried
        if todo or before:
            records = {run: store.read(run.folder).record for run in todo}
            checkpoints = {
                run: record.checkpoint.folder
                for run, record in records.items()
                if record is not None and record.checkpoint is not None
            }
            if driver.spec.elsewhere:
                spread = elsewhere(plan, len(todo), workers)
            else:
                _measure_methods(plan, todo, kind, workers or _cores(), store, speeds)
                alone = estimate(plan, todo, store, 1, speeds.of(plan))
                spread = _arrange(plan, todo, kind, workers, alone)
            groups = make_batch_groups(plan, todo, kind, spread.lanes, checkpoints)
            team = min(spread.processes, len(groups) + len(before))
            expected = estimate(plan, todo | runs_in(before), store, team, speeds.of(plan))
            at_once = "job at once" if driver.spec.elsewhere else "process"
            say(
                f"On {kind}, {count(team, at_once)}: about {duration(expected.seconds)} "
                f"(from {expected.basis}). Safe to interrupt; run again to resume.",
                err=True,
            )
            if not driver.waits:
                orders = driver.submit(plan, groups, workers)
                say(
                    f"Submitted {count(len(orders), 'job')} to {driver.spec.name}; the same "
                    f"command with --wait follows them, uqbench status shows them.",
                    err=True,
                )
                return {run: store.read(run.folder).state for run in plan.runs}
            asked = workers if driver.spec.elsewhere else team
            executed = driver.execute(plan, groups, asked, before)
            everything = [*groups, *(group for _, group in before)]
            done = _follow(host, executed, everything, team, expected.core_seconds)
            tried |= done - runs_in(before)
            before = []
        left = {run: store.read(run.folder).state for run in plan.runs}
        todo = {run for run, state in left.items() if state in TO_DO} - tried
        running = [run for run, state in left.items() if state is RunState.RUNNING]
        if not todo and not (running and driver.waits):
            break
        if not todo:
            say(f"Waiting for {count(len(running), 'run')} of another process.", err=True)
            _wait_for_any(running, store)
    return left


def _by_method(plan: Plan, todo: Collection[Run], alone: Estimate, speeds: Speeds) -> str:
    """What is left of each method, the slowest first: runs, core time, memory of a run."""
    from uqbench.cli.eta import duration

    known = speeds.of(plan)
    seconds = dict.fromkeys((cell.method.name for cell in plan.cells), 0.0) | alone.by_method()
    lines = ["method                 to do  have  one core  memory of a run"]
    for name in sorted(seconds, key=lambda name: -seconds[name]):
        runs = [run for run in plan.runs if run.method == name]
        left = sum(run in todo for run in runs)
        memory = f"{known[name].megabytes:,.0f} MB" if name in known else "not measured yet"
        lines.append(
            f"{name:22} {left:5,} {len(runs) - left:5,}  {duration(seconds[name]):>8}  {memory}"
        )
    lines.append(f"in all, on one core: {duration(alone.seconds)} (from {alone.basis})")
    return "\n".join(lines)


def _measure_methods(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    processes: int,
    store: Store,
    speeds: Speeds,
) -> None:
    """Measure the speed of methods where it is unknown and the plan is long."""
    from uqbench.cli.eta import estimate
    from uqbench.runner.batching.autotune import method_speeds

    known = speeds.of(plan)
    alone = estimate(plan, todo, store, 1, known)
    found = method_speeds(plan, todo, known, device, processes, alone.seconds)
    if not found:
        return
    speeds.add(plan, found)
    table = ", ".join(f"{cell.method.name} {speed.step_ms:.2g}" for cell, speed in found)
    say(f"Milliseconds a step, measured here: {table}.", err=True)


def _arrange(
    plan: Plan, todo: Collection[Run], device: DeviceKind, workers: int | None, alone: Estimate
) -> Arrangement:
    """Choose lanes and processes; say so if they were measured."""
    from uqbench.runner.batching.autotune import arrange

    chosen = arrange(plan, todo, device, workers, _cores(), alone.by_method())
    if chosen.measured_with is not None:
        cell, speeds = chosen.measured_with, chosen.speeds
        table = ", ".join(f"{s.lanes} × {s.processes}: {s.steps_per_s:,.0f}" for s in speeds)
        say(
            f"Lanes × processes: {chosen.lanes} × {chosen.processes}, the fastest of steps/s "
            f"measured with {cell.method.name} on {cell.task.name} ({table}).",
            err=True,
        )
    return chosen


def _wait_for_any(running: Sequence[Run], store: Store) -> None:
    """Wait until one of these runs, which another process works on, stops running."""
    from uqbench.results.store import RunState

    while all(store.read(run.folder).state is RunState.RUNNING for run in running):
        time.sleep(1)


def _announce(plan: Plan, states: dict[Run, StoredRun], out: Path) -> set[Run]:
    """Print what will run and why; return the runs to do."""
    from uqbench.results.store import TO_DO, RunState

    todo = {run for run, found in states.items() if found.state in TO_DO}
    methods = dict.fromkeys(cell.method.name for cell in plan.cells)
    tasks = dict.fromkeys(cell.task.name for cell in plan.cells)
    say(
        f"{plan.suite.name}, budget {plan.budget_name}: {plan.budget.summary}",
        f"{count(len(plan.runs), 'run')} of {_steps(plan)} steps: "
        f"{', '.join(methods)} on {', '.join(tasks)}. Results go to {out}/.",
        err=True,
    )
    for state in RunState:
        runs = [run for run, found in states.items() if found.state is state]
        if not runs or state is RunState.MISSING:
            continue
        action = "again" if runs[0] in todo else "not run again"
        say(f"{len(runs)} {state.value}: {action}{_from_steps(runs, states)}.", err=True)
        if state in (RunState.DAMAGED, RunState.FAILED):
            for run in runs:
                say(f"  {run.folder}: {states[run].reason}", err=True)
    return todo


def _steps(plan: Plan) -> str:
    """Steps of a run: a number, or the range over the plan's tasks."""
    steps = [plan.budget.on(cell.task).steps for cell in plan.cells]
    least, most = min(steps), max(steps)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _from_steps(runs: Sequence[Run], states: dict[Run, StoredRun]) -> str:
    """How many of some runs resume from a checkpoint, and at which steps."""
    records = (states[run].record for run in runs)
    steps = [r.checkpoint.step for r in records if r is not None and r.checkpoint is not None]
    if not steps:
        return ""
    first, last = f"{min(steps):,}", f"{max(steps):,}"
    return f", {len(steps)} from step {first if first == last else f'{first} to {last}'}"


def _follow(
    host: Host,
    executed: Generator[Event, None, None],
    groups: Sequence[BatchGroup],
    workers: int,
    core_seconds: Mapping[Run, float],
) -> set[Run]:
    """Show what happens; return the runs that were tried, whether they finished or failed."""
    from uqbench.cli.progress import Display
    from uqbench.runner import events

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # how a scheduler interrupts
    tried: set[Run] = set()
    complaints: dict[str, None] = {}
    with Display(groups, core_seconds, workers) as display, closing(executed):
        for event in executed:
            display.show(event)
            complaints |= dict.fromkeys(_call_hooks(host, event))
            if isinstance(event, events.Finished | events.Failed):
                tried |= set(event.batch.runs)
            if isinstance(event, events.Failed) and event.full:
                complaints["the disk stayed full; what was left was not tried"] = None
                tried |= {run for group in groups for batch in group for run in batch.runs}
                break
    for complaint in complaints:
        say(f"uqbench: {complaint}", err=True)
    return tried


def _call_hooks(host: Host, event: Event) -> Iterator[str]:
    """Call the life-cycle hooks, run by run; yields a message for each failure."""
    from uqbench.runner import events

    for run in event.batch.runs:
        match event:
            case events.Started():
                yield from host.call_hook("uqbench_run_started", run=run)
            case events.Progress():
                metrics = event.metrics[run.seed]
                yield from host.call_hook(
                    "uqbench_run_progress", run=run, step=event.step, metrics=metrics
                )
            case events.Finished():
                scalars = event.scalars[run.seed]
                yield from host.call_hook("uqbench_run_finished", run=run, scalars=scalars)
            case events.Failed():
                yield from host.call_hook("uqbench_run_failed", run=run, reason=event.reason)


def _show(plan: Plan, store: Store, stored: StoredBoard | None, host: Host) -> None:
    """Write and print the leaderboard, a stored one with the plan's runs in it if there is one."""
    from uqbench.cli.beside import beside
    from uqbench.cli.leaderboard import board_folder, write_board
    from uqbench.cli.table import print_board
    from uqbench.scoring.leaderboard import board

    result = board(plan, store) if stored is None else beside(plan, stored, store)
    folder = board_folder(result.plan, store.root / "leaderboards")
    write_board(result, store, folder, host, () if stored is None else stored.made[0])
    print_board(result)
    say(str(folder / "leaderboard.csv"))


def _device(choice: str, where: Where, driver: Driver) -> DeviceKind:
    """The kind of device that the runs are for: stated, or that of this machine."""
    if driver.spec.elsewhere:  # torch is asked where the work is done
        gpu = where.resources.gpus > 0
        return "cuda" if choice == "cuda" or (choice == "auto" and gpu) else "cpu"
    import torch

    available = torch.cuda.is_available()
    if choice == "cuda" and not available:
        raise UqbenchError("--device cuda: torch finds no CUDA device here; use --device cpu.")
    return "cuda" if choice == "cuda" or (choice == "auto" and available) else "cpu"


def _cores() -> int:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
