"""``uqbench run``: do what is missing of a suite, and show the leaderboard."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uqbench.cli.options import (
    MOST_SEEDS,
    Selection,
    device_option,
    load_host,
    out_option,
    selection_options,
    workers_option,
)
from uqbench.cli.terminal import say, warn
from uqbench.cli.where import where_options
from uqbench.errors import UqbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uqbench.boards.with_stored import Reference
    from uqbench.identity import Run
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store, StoredRun
    from uqbench.runner.complete import Execution
    from uqbench.runner.dispatch.drive import Where
    from uqbench.suites.plan import Plan


@click.command()
@selection_options
@device_option
@workers_option
@where_options
@out_option
@click.option(
    "--log",
    "loggers",
    multiple=True,
    type=click.Choice(["csv", "tensorboard", "wandb"]),
    help="Log the runs below OUT/logs; may be repeated.",
)
@click.option(
    "--keep-agents",
    is_flag=True,
    help="Store the final state of each agent beside its run, for uqbench play.",
)
@click.option("--cancel", is_flag=True, help="Cancel what an earlier command submitted, and stop.")
@click.option(
    "--fresh",
    is_flag=True,
    help="Make finished runs of other code than is installed again; the earlier ones are kept.",
)
@click.option("--dry-run", is_flag=True, help="Say what would run, and stop.")
@click.option(
    "--until-decided",
    is_flag=True,
    help="Add seeds to what claims (or ranks) leave open, until they are decided.",
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
    loggers: tuple[str, ...],
    keep_agents: bool,
    cancel: bool,
    fresh: bool,
    dry_run: bool,
    until_decided: bool,
    max_seeds: int | None,
    beside: Path | None,
) -> int:
    """Run a suite: do what is missing, then print its leaderboard.

    Safe to interrupt at any moment: run it again, and it does only what is missing. Unfinished runs
    resume from their last checkpoint, also on another machine that has a copy of --out. A run that
    exceeds a limit fails with that reason, and the others continue. Finished runs that were made
    with other code than is installed are told; --fresh makes them again, and moves the earlier ones
    to OUT/.earlier/1 (2, …), which is a results folder, too.

    \b
    Examples:
      uqbench run --suite minatar
      uqbench run --suite minatar --budget smoke --methods qr-dqn --seed 3
      uqbench run --suite windy-cliff --budget paper --until-decided --max-seeds 60
      uqbench run --suite minatar --budget cpu --methods mine --beside leaderboards
      uqbench run --suite minatar --budget paper --device cuda --executor slurm --slurm time=240
    """
    from uqbench.amounts import count
    from uqbench.boards.with_stored import read_reference
    from uqbench.results.store import RunState, Store
    from uqbench.runner.complete import Execution, complete
    from uqbench.runner.device import find_device, stated_device
    from uqbench.runner.dispatch.drive import Driver
    from uqbench.runner.display import Terminal
    from uqbench.runner.rerun import code_note, make_room

    host = load_host()
    store = Store(out)
    driver = Driver(where, host, out)
    kind = stated_device(device, where.resources.gpus) if driver.elsewhere else find_device(device)
    execution = Execution(host, kind, store, Terminal(), workers, driver, loggers)
    selection = replace(selection, keep_agents=keep_agents)
    plan = selection.plan(host, execution.device)
    if cancel:
        orders = [order for order, _ in driver.alive(plan)]
        driver.cancel(orders)
        say(f"Canceled {count(len(orders), 'job')}; run again to resume.", err=True)
        return 0
    if not dry_run:
        note = store.prepare(shared=driver.elsewhere)
        if note:
            say(f"Runs are locked by leases: {note}.", err=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # how a scheduler interrupts
    if until_decided:
        if selection.seeds is not None or dry_run or fresh or beside is not None:
            raise UqbenchError(
                "--until-decided chooses the seeds as it goes: leave out --seeds, --seed, "
                "--dry-run, --beside and --fresh; --max-seeds limits the seeds."
            )
        if not driver.waits:
            raise UqbenchError(
                f"--until-decided follows its runs: add --wait to --executor {where.executor}."
            )
        return _until_decided(selection, plan, max_seeds, execution)
    if max_seeds is not None:
        raise UqbenchError("--max-seeds goes with --until-decided; --seeds N runs N seeds.")
    stored = None if beside is None else read_reference(selection, plan, host, beside, warn)
    if dry_run:
        states = _show_cost(plan, execution)
        say(*filter(None, [code_note(states.values())]), err=True)
        return 0
    if fresh:
        make_room(plan, store, execution.watcher)
    finished = set(complete(plan, execution).values()) == {RunState.FINISHED}
    if not (driver.waits or finished):
        return 0
    _show(plan, store, stored, host)
    return 0 if finished else 1


def _until_decided(
    selection: Selection, plan: Plan, max_seeds: int | None, execution: Execution
) -> int:
    """Run looks until everything is decided; return the exit code."""
    from uqbench.boards.until_decided import DEFAULT_SEEDS, run_until_decided
    from uqbench.cli.until_decided import show_decided
    from uqbench.runner.complete import complete

    host, store = execution.host, execution.store
    decided = run_until_decided(
        selection,
        plan,
        max_seeds or DEFAULT_SEEDS,
        lambda look: look.plan(host, execution.device, warn),
        store,
        lambda look: complete(look, execution),
        warn,
    )
    if decided is None:
        return 1
    show_decided(decided, store, host)
    return 0


def _show_cost(plan: Plan, execution: Execution) -> Mapping[Run, StoredRun]:
    """Print what would run, and how long each method would take; return what is stored."""
    from uqbench.amounts import duration
    from uqbench.runner.complete import preview
    from uqbench.runner.forecast import costs
    from uqbench.runner.states import describe, stored_states

    states = stored_states(plan, execution.store)
    execution.watcher.say(*describe(plan, states, execution.store))
    methods, expected = costs(plan, states, execution.store)
    script = preview(plan, execution)
    err = bool(script)  # which is then the result
    device = "device" if execution.device == "cuda" else "one core"
    say(f"method                 to do  have  {device:>8}      disk  memory of a run", err=err)
    for one in methods:
        memory = "not measured yet" if one.megabytes is None else f"{one.megabytes:,.0f} MB"
        left = f"{one.method:22} {one.to_do:5,} {one.have:5,}"
        disk = "?" if one.disk is None else f"{one.disk:,.1f} MB"
        say(f"{left}  {duration(one.seconds):>8}  {disk:>8}  {memory}", err=err)
    if expected.basis:
        say(f"in all, on one core: {duration(expected.seconds)} (from {expected.basis})", err=err)
    if script:
        say(*script.splitlines())
    return states


def _show(plan: Plan, store: Store, stored: Reference | None, host: Host) -> None:
    """Write and print the leaderboard, a stored one with the plan's runs in it if there is one."""
    from uqbench.boards.board_files import board_folder
    from uqbench.boards.leaderboard import board
    from uqbench.views.board_folders import write_board
    from uqbench.views.terminal import print_board

    result = board(plan, store) if stored is None else stored.with_runs(plan, store)
    folder = board_folder(result.plan, store.root / "leaderboards")
    write_board(result, store, folder, host, () if stored is None else stored.made)
    print_board(result)
    say(str(folder / "leaderboard.csv"))
