"""The boards that a store's runs make: a plan of what is there, for each suite and budget."""

from collections.abc import Iterable, Set
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from uqbench.boards.leaderboard import Board
from uqbench.boards.scores import gather
from uqbench.contract.errors import UqbenchError, warn
from uqbench.contract.identity import Run
from uqbench.registry.load_host import load_host
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.suites.plan import SELF_RUN, Cell, Plan
from uqbench.suites.reading import read_suites
from uqbench.suites.selection import Selection
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method
from uqbench.suites.variants import base_name


def boards_of(store: Store, folders: Iterable[PurePosixPath]) -> list[Board]:
    """A board for each suite and budget with runs that the suite as it is installed would make.

    Its scores are gathered when they are asked for. Runs with other settings, steps or versions are
    on no board: they would not be compared with what they are not.

    Args:
        store: of the runs.
        folders: of the runs, ``suite/budget/task/method/seed-digest``.
    """
    groups: dict[tuple[str, str], set[PurePosixPath]] = {}
    for folder in folders:
        groups.setdefault((folder.parts[0], folder.parts[1]), set()).add(folder)
    host = load_host()
    suites = read_suites(host, check=())
    boards = []
    for (suite, budget), own in groups.items():
        try:
            suites.suite(suite).budget(budget)
        except UqbenchError as error:
            warn(f"no board of {suite}/{budget}: {error}")
            continue
        if (plan := _plan(suites.suite(suite), budget, own, host, store)) is not None:
            boards.append(Board.of(plan, partial(gather, plan, store)))
    return boards


def _plan(
    suite: Suite, budget: str, folders: Set[PurePosixPath], host: Host, store: Store
) -> Plan | None:
    """The plan of the runs that are there: of each method the seeds that any of its tasks has."""
    known = {method.name for method in suite.methods}
    methods = sorted({f.parts[3] for f in folders if base_name(f.parts[3]) in known})
    tasks = sorted({f.parts[2] for f in folders} & {task.name for task in suite.tasks})
    seeds = sorted({seed_of(f) for f in folders})
    if not tasks:
        return None
    chosen = Selection(suite.name, budget, tuple(methods) or None, tuple(tasks), tuple(seeds))
    plan = chosen.plan(host, "cpu")
    there = (r for r in plan.runs if any(one.folder in folders for one in r.on_any_device))
    own = {(run.method, run.seed) for run in there}
    kept = [[run for run in cell.runs if (run.method, run.seed) in own] for cell in plan.cells]
    parts = zip(plan.cells, kept, strict=True)
    cells = tuple(replace(cell, runs=tuple(runs)) for cell, runs in parts if runs)
    cells += _self_run(plan, [of for of in sorted(folders) if of.parts[3] not in methods], store)
    standard = plan.standard and cells == plan.cells
    return replace(plan, cells=cells, standard=standard) if cells else None


def _self_run(plan: Plan, folders: Iterable[PurePosixPath], store: Store) -> tuple[Cell, ...]:
    """The cells of recorded loops, on tasks as they are in a plan today."""
    of_task = {cell.task.name: cell for cell in plan.cells}
    runs: dict[tuple[str, str], list[Run]] = {}
    for folder in folders:
        record = store.read(folder).record
        if record is None or record.identity["method"]["agent"] != SELF_RUN:
            continue
        (suite, budget, task, method, _), identity = folder.parts, record.identity
        same = {"suite", "budget", "task"} if task in of_task else set()
        if same and all(identity[k] == of_task[task].runs[0].identity[k] for k in same):
            run = Run(suite, budget, task, method, identity["seed"], identity)
            runs.setdefault((task, method), []).append(run)
    cells = []
    for (task, name), own in runs.items():
        row = Method.model_construct(name=name)
        cells.append(replace(of_task[task], method=row, role="method", runs=tuple(own)))
    return (*cells,)


def seed_of(folder: PurePosixPath) -> int:
    """The seed that the name of a run's folder begins with; -1 where it does not."""
    seed = folder.name.partition("-")[0]
    return int(seed) if seed.isdecimal() else -1
