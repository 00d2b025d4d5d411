"""The boards that a store's runs make: a plan of what is there, for each suite and budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from uqbench.api.run_tables import FoundRun
from uqbench.boards.leaderboard import board
from uqbench.boards.run_boards import ComputedTables
from uqbench.boards.scores import DEVICES
from uqbench.identity import Run
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.suites.plan import Cell, Plan
from uqbench.suites.reading import read_suites
from uqbench.suites.selection import Selection, warn
from uqbench.suites.suite import Suite
from uqbench.suites.variants import base_name


def found_boards(store: Store, found: Iterable[FoundRun]) -> list[ComputedTables]:
    """A board for each suite and budget with runs that the suite as it is installed would make.

    Runs with other settings, steps or versions are on no board: they would not be compared with
    what they are not.
    """
    groups: dict[tuple[str, str], list[FoundRun]] = {}
    for run in found:
        suite, budget, *_ = run.cell
        groups.setdefault((suite, budget), []).append(run)
    host = load_host()
    suites = read_suites(host, check=()).suites
    boards = []
    for (suite, budget), runs in groups.items():
        if suite not in suites or budget not in suites[suite].budgets:
            warn(f"no board of {suite}/{budget}: no installed plugin has that suite and budget")
            continue
        plan = _plan(suites[suite], budget, runs, host)
        if plan is not None:
            compute = partial(board, plan, store)
            boards.append(ComputedTables(suite, plan.name, f"{store.root}/{suite}", compute))
    return boards


def _plan(suite: Suite, budget: str, found: Sequence[FoundRun], host: Host) -> Plan | None:
    """The plan of the runs that are there: of each method the seeds that any of its tasks has."""
    known = {method.name for method in suite.methods}
    methods = sorted({run.cell[3] for run in found if base_name(run.cell[3]) in known})
    tasks = sorted({run.cell[2] for run in found} & {task.name for task in suite.tasks})
    seeds = sorted({run.cell[4] for run in found})
    if not methods or not tasks:
        return None
    chosen = Selection(suite.name, budget, tuple(methods), tuple(tasks), tuple(seeds))
    plan = chosen.plan(host, "cpu")
    folders = {run.folder for run in found}
    there = {run for run in plan.runs if _is_there(run, folders)}
    own = {method: {run.seed for run in there if run.method == method} for method in plan.roles}
    cells = tuple(
        part for cell in plan.cells if (part := _with_seeds(cell, own[cell.method.name])).runs
    )
    if not cells:
        return None
    return replace(plan, cells=cells, standard=plan.standard and cells == plan.cells)


def _is_there(run: Run, folders: set[PurePosixPath]) -> bool:
    return any(run.on_device(device).folder in folders for device in DEVICES)


def _with_seeds(cell: Cell, seeds: set[int]) -> Cell:
    return replace(cell, runs=tuple(run for run in cell.runs if run.seed in seeds))
