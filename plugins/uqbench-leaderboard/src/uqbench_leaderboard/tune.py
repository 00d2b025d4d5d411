"""Tuning: the runs of a suite's search, and the table of what each setting scored."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from uqbench.api.execute import execute
from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards.cost import cost_csv, read_cost
from uqbench.boards.leaderboard import Board
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.registry import local
from uqbench.registry.plugins import Host
from uqbench.results.files import write_data
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan
from uqbench.suites.search import check_space, default_of, own_values
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method
from uqbench.suites.tuning import (
    LAST,
    NAME,
    YES,
    Tried,
    Tuned,
    joined,
    outcomes,
    read_table,
    table,
)  # fmt: skip
from uqbench.suites.variants import base_name, variant_name


@dataclass(frozen=True)
class Tuning:
    """The outcome of a search.

    Attributes:
        tuned: what came out, by method; without those of which no setting has all of its runs.
        failed: the runs that did, each with its reason.
        tables: the files that were written.
    """

    tuned: dict[str, Tuned]
    failed: dict[str, str]
    tables: tuple[Path, ...]


def tune(
    options: Options, to: Path | None = None, watcher: Watcher | None = None, say: Say = warn
) -> Tuning | None:
    """Do what is missing of a suite's search, and write its table.

    Rows of other methods stay in the table.

    Args:
        options: which methods, and where and how runs are executed.
        to: the table; None for ``<suite>.tuning.csv`` beside the suite's file, or beside the file
            of a method that is of one.
        watcher: shows what is executed.
        say: called with what stops nothing.

    Returns:
        None where an executor goes on with the runs.

    Raises:
        UqbenchError: the suite has no ``[tuning]``, or a method no search space.
    """
    tried, failed, paths = list[Tried](), dict[str, str](), dict[Path, None]()
    rungs = [NAME]
    for rung in rungs:
        session = search(options, watcher, say, rung)
        done = execute(session)
        rungs += [LAST] * (rung == NAME and LAST in done.plan.suite.all_budgets)
        if done.board is None:
            return None
        places: dict[Path, list[Tried]] = defaultdict(list)
        for one in (new := tried_of(done.board, session.host)):
            places[to or _place(one.method, done.plan.suite)].append(one)
        for path, own in places.items():
            write_data(path, table(joined(read_table(path), own)).encode())
        tried, paths = [*joined(tried, new)], paths | dict.fromkeys(places)
        failed |= {run.name: reason for run, reason in done.unfinished.items()}
    return Tuning(outcomes(tried), failed, tuple(paths))


def tried_of(board: Board, host: Host) -> list[Tried]:
    """The scores of the settings, from the board of a rung of a search."""
    suite, of = board.plan.suite, board.plan.suite.tuning
    assert of is not None
    metrics = [suite.metric(name) for name in of.metrics] or [board.primary]
    costs = read_cost(cost_csv(board.plan, board.scores))
    hours = {(row.task, row.method): row.device_hours for row in costs}
    tried, order = [], [*board.plan.roles]
    rung = None if of.last is None else 1 + (board.plan.budget_name == LAST)
    for cell in sorted(board.plan.cells, key=lambda cell: order.index(cell.method.name)):
        name, task, own = cell.method.name, cell.task.name, board.methods[cell.method.name]
        known = [
            suite.normalization_constants(m)[task].normalize(values[:, 0])
            for m in metrics
            if (values := own.on(task, m)) is not None
        ]
        scores = np.mean(known, axis=0) if len(known) == len(metrics) else np.array([np.nan])
        mean, several = scores.mean(), rung and len(scores) > 1
        error = scores.std(ddof=1) / np.sqrt(len(scores)) if several else np.nan
        version, took = cell.runs[0].identity["method"]["version"], hours.get((task, name), 0.0)
        setting = name.partition("[")[2][:-1]
        row = Tried(base_name(name), version, setting, task, _number(mean), len(cell.runs), took)
        default = _default(board.plan, cell.method, host) if rung else None
        tried.append(replace(row, rung=rung, error=_number(error), default=default))
    return tried


def _default(plan: Plan, method: Method, host: Host) -> str | None:
    """The method's values of what other settings set, if its own are its defaults; else None."""
    own, every = plan.settings.get(method.name, {}), plan.settings.items()
    if not default_of(plan.suite, plan.budget_name, method, host, {method.name: own}):
        return None
    tried = {name: of for name, of in every if base_name(name) == base_name(method.name)}
    values = own_values(plan.suite, plan.budget_name, method, host, tried)
    others = {key: value for key, value in values.items() if key not in own}
    return variant_name("", others)[1:-1] or YES


def _number(value: float) -> float | None:
    """The value as the table has it; None where there is none."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def search(
    options: Options, watcher: Watcher | None = None, say: Say = warn, rung: str = NAME
) -> Session:
    """The session of a rung of a suite's search.

    Raises:
        UqbenchError: the suite has none, or what is set is no search space.
    """
    if (options.tasks, options.seeds, options.steps) != (None, None, None):
        raise UqbenchError("tasks, seeds and steps are those of [tuning]: expected none of them.")
    options = replace(options, budget=rung, settings=options.settings if rung == NAME else {})
    session = Session(options, watcher or Watcher(), say)
    plan = session.plan()
    assert plan.suite.tuning is not None  # or there would be no such budget
    if rung == LAST:  # a few of those that were checked
        return session
    settings = Counter(map(base_name, plan.settings))
    for method, tried in settings.items():  # of several grids: a setting has the keys of its own
        own = {key for name, v in plan.settings.items() if base_name(name) == method for key in v}
        check_space(own, tried, plan.suite.tuning, method)
    return session


def _place(method: str, suite: Suite) -> Path:
    """The path of the table of a method's settings.

    Raises:
        UqbenchError: its suite is of no file.
    """
    own = [Path(p.path).parent for p in local.current() if p.name == method and p.path and p.joins]
    if (folder := own[0] if own else suite.tables.folder) is None:
        raise UqbenchError(f"{suite.name} is of no file: name the table's with --to.")
    return folder / f"{suite.name}.tuning.csv"
