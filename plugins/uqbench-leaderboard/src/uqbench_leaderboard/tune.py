"""Tuning: the runs of a suite's search, and the table of what each setting scored."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
from uqbench.suites.configs import method_config
from uqbench.suites.plan import Cell, Plan
from uqbench.suites.search import check_space, default_of, defaults
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
from uqbench.suites.variants import Grid, base_name, grid, values_of, variant_name

WIDER = 4
"""Times that a grid may widen."""


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

    In the first rung a grid widens on the side on which the choice is (:func:`further`), until the
    choice is inside, the config takes no such value, or :data:`WIDER` times. Rows of other methods
    stay in the table.

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
    rungs, wider = [(NAME, options)], 0
    for rung, of in rungs:
        session = search(of, watcher, say, rung, wider=wider > 0)
        done = execute(session)
        if done.board is None:
            return None
        places: dict[Path, list[Tried]] = defaultdict(list)
        for one in (new := tried_of(done.board, session.host)):
            places[to or _place(one.method, done.plan.suite)].append(one)
        for path, own in places.items():
            write_data(path, table(joined(read_table(path), own)).encode())
        tried, paths = [*joined(tried, new)], paths | dict.fromkeys(places)
        grids = widened(new, done.plan, session.host) if rung == NAME and wider < WIDER else {}
        if grids:
            wider += 1
            fixed = {n: _fixed(options.settings.get(n, {})) | grids[n] for n in grids}
            rungs.append((NAME, replace(options, methods=tuple(grids), settings=fixed)))
        elif rung == NAME and LAST in done.plan.suite.all_budgets:
            rungs.append((LAST, options))
        failed |= {run.name: reason for run, reason in done.unfinished.items()}
    return Tuning(outcomes(tried), failed, tuple(paths))


def widened(rows: Sequence[Tried], plan: Plan, host: Host) -> dict[str, dict[str, Any]]:
    """Wider grids of the methods whose choice is at an edge of theirs, by name.

    Args:
        rows: of a search; methods that have several grids stay as they are.
        plan: of its runs.
        host: the plugins.
    """
    grids: dict[str, dict[str, Any]] = {}
    plain = [replace(row, error=None) for row in rows]  # the last rung takes the best mean, too
    for name, of in outcomes(plain).items():
        tried = {row.setting: values_of(f"[{row.setting}]") for row in rows if row.method == name}
        values = {
            key: list(dict.fromkeys(own.get(key) for own in tried.values())) for key in of.values
        }
        if of.at_edge and math.prod(map(len, values.values())) == len(tried):
            cells = [cell for cell in plan.cells if base_name(cell.method.name) == name]
            more = {k: further(own, of.values[k]) for k, own in values.items()}
            more = {k: x for k, x in more.items() if x is not None and _taken(cells, host, k, x)}
            if more:
                grids[name] = {
                    k: grid(*own, *([more[k]] if k in more else [])) for k, own in values.items()
                }
    return grids


def _fixed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are the same in all variants."""
    return {key: value for key, value in settings.items() if not isinstance(value, Grid)}


def further(tried: Sequence[Any], chosen: Any) -> float | int | None:
    """The value beyond the one that is chosen, if that is the least or the largest of those tried.

    As far from it, by ratio, as it is from its neighbor: of 0.01, 0.03 and 0.1 it is 0.333 or
    0.00333; whole where all are. None inside, and of what is no positive number.
    """
    if any(isinstance(x, bool) or not isinstance(x, int | float) or x <= 0 for x in tried):
        return None
    known = sorted(tried)
    if len(known) < 2 or chosen not in (known[0], known[-1]):
        return None
    neighbor = known[1] if chosen == known[0] else known[-2]
    beyond = float(f"{chosen * chosen / neighbor:.3g}")
    if not all(isinstance(x, int) for x in tried):
        return None if beyond in tried else beyond
    return None if round(beyond) in tried or round(beyond) < 1 else round(beyond)


def _taken(cells: Sequence[Cell], host: Host, key: str, value: Any) -> bool:
    """Whether the config of a method takes a value."""
    cell = cells[0]
    try:
        method_config(cell.method, cell.task, host, where=key, overrides={key: value})
    except (UqbenchError, ValueError):
        return False
    return True


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
    options: Options,
    watcher: Watcher | None = None,
    say: Say = warn,
    rung: str = NAME,
    *,
    wider: bool = False,
) -> Session:
    """The session of a rung of a suite's search; of a wider grid, whose number is not checked.

    Raises:
        UqbenchError: the suite has none, or what is set is no search space.
    """
    if (options.tasks, options.seeds, options.steps) != (None, None, None):
        raise UqbenchError("tasks, seeds and steps are those of [tuning]: expected none of them.")
    options = replace(options, budget=rung, settings=options.settings if rung == NAME else {})
    session = Session(options, watcher or Watcher(), say)
    plan = session.plan()
    assert plan.suite.tuning is not None  # or there would be no such budget
    if rung == LAST or wider:  # a few of those that were checked, or more of them
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


def own_values(
    suite: Suite, budget: str, method: Method, host: Host, tried: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The method's own values of what is tried, without those that differ by task."""
    keys = dict.fromkeys(key for values in tried.values() for key in values)
    first, *others = defaults(suite, budget, method, host, keys)
    return {key: value for key, value in first.items() if all(of[key] == value for of in others)}
