"""Tuning: the runs of a suite's search, and the table of what each setting scored."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from uqbench.api.execute import execute
from uqbench.api.options import Options
from uqbench.api.session import Session
from uqbench.boards.cost import cost_csv, read_cost
from uqbench.boards.leaderboard import Board
from uqbench.contract.errors import Say, UqbenchError, warn
from uqbench.registry import local
from uqbench.results.files import write_data
from uqbench.runner.watcher import Watcher
from uqbench.suites.search import check_space
from uqbench.suites.suite import Suite
from uqbench.suites.tuning import NAME, Tried, Tuned, joined, outcomes, read_table, table
from uqbench.suites.variants import base_name


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
    done = execute(search(options, watcher, say))
    if done.board is None:
        return None
    places: dict[Path, list[Tried]] = defaultdict(list)
    for one in (tried := tried_of(done.board)):
        places[to or _place(one.method, done.plan.suite)].append(one)
    for path, own in places.items():
        write_data(path, table(joined(read_table(path), own)).encode())
    failed = {run.name: reason for run, reason in done.unfinished.items()}
    return Tuning(outcomes(tried), failed, tuple(places))


def tried_of(board: Board) -> list[Tried]:
    """The scores of the settings, from the board of a search."""
    costs = read_cost(cost_csv(board.plan, board.scores))
    hours = {(row.task, row.method): row.device_hours for row in costs}
    tried, order = [], [*board.plan.roles]
    for cell in sorted(board.plan.cells, key=lambda cell: order.index(cell.method.name)):
        name, task = cell.method.name, cell.task.name
        mean = float(board.methods[name].cells[task].score.mean())
        score = float(f"{mean:.6g}") if math.isfinite(mean) else None  # as the table has it
        version, took = cell.runs[0].identity["method"]["version"], hours.get((task, name), 0.0)
        setting = name.partition("[")[2][:-1]
        tried.append(Tried(base_name(name), version, setting, task, score, len(cell.runs), took))
    return tried


def search(options: Options, watcher: Watcher | None = None, say: Say = warn) -> Session:
    """The session of a suite's search.

    Raises:
        UqbenchError: the suite has none, or what is set is no search space.
    """
    if (options.tasks, options.seeds, options.steps) != (None, None, None):
        raise UqbenchError("tasks, seeds and steps are those of [tuning]: expected none of them.")
    session = Session(replace(options, budget=NAME), watcher or Watcher(), say)
    plan = session.plan()
    assert plan.suite.tuning is not None  # or there would be no such budget
    settings = Counter(map(base_name, plan.settings))
    for name, values in plan.settings.items():
        check_space(values, settings[base_name(name)], plan.suite.tuning, base_name(name))
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
