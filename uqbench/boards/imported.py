"""Boards of scores that others made, and stored boards of these beside runs of one's own.

They have the statistics, the tables and the pages of every board. Their manifest says *imported*
and lists the digests of the files; no row of theirs is ranked with one that was run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import Planned
from uqbench.boards.scores import from_csv, is_finite
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.contract.identity import runs_of
from uqbench.results.files import stored_text
from uqbench.results.scores import Score, Scores
from uqbench.results.store import RunState
from uqbench.suites.metrics import Metric, Normalization, NormalizationConstants
from uqbench.suites.plan import Cell, Plan, RowRole
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Budget, Method, Task

IMPORTED = "imported"
"""The board of a suite that holds imported scores, and the role of such rows beside runs."""
METRIC = "imported_score"
"""Not *score*, which is a column of ``scores.csv`` already."""
Ranking = Literal["iqm", "mean", "median"]
Constants = Mapping[str, tuple[float, float]]
"""The raw scores that are 0 and 1, by task."""
_PREFIX, _SUFFIX = re.compile(r"^ALE/"), re.compile(r"((NoFrameskip|Deterministic)?-v\d+)$")


def imported_board(
    table: pd.DataFrame,
    constants: Constants | None = None,
    *,
    by: Ranking = "iqm",
    paired: bool = False,
    name: str = "scores",
    files: Mapping[str, str] | None = None,
    scale: tuple[str, str] = ("as given", "as given"),
) -> Board:
    """A board of a table of scores.

    Every method is to have as many runs of every task as it has of one: what it lacks is missing,
    and it has no rank, as on any board.

    Args:
        table: ``method``, ``task``, ``seed``, ``score``, perhaps ``zero`` and ``one``.
        constants: the scores that are 0 and 1, of rows that do not say so themselves.
        by: the statistic that ranks.
        paired: whether the methods met the same worlds of a seed.
        name: of the board's suite.
        files: digests of what was read, by name.
        scale: what is 0 and 1, in words.

    Raises:
        UqbenchError: a name cannot be shown, a task has no constants, or 0 and 1 are one score.
    """
    table = _normalized(table.copy(), constants)
    for column in ("method", "task"):
        table[column] = table[column].map(lambda one, what=column: _name(str(one), what))
    methods, tasks = (list(dict.fromkeys(table[column])) for column in ("method", "task"))
    cells = {key: of.reset_index(drop=True) for key, of in table.groupby(["method", "task"])}
    scale_one = NormalizationConstants(zero=0.0, one=1.0)
    suite = Suite.model_construct(
        name=name,
        version="1",
        summary="Scores that were imported: not run by uqbench.",
        primary=METRIC,
        baseline=methods[0],
        default_budget=IMPORTED,
        ranks_by=by,
        paired=paired,
        tasks=tuple(Task.model_construct(name=task, dataset=IMPORTED) for task in tasks),
        methods=tuple(Method.model_construct(name=of, estimator=IMPORTED) for of in methods),
        metrics=(Metric(name=METRIC, summary="as read", kind="dataset", statistic=METRIC),),
        normalization={
            METRIC: Normalization.model_construct(
                version="1", zero=scale[0], one=scale[1], constants=dict.fromkeys(tasks, scale_one)
            )
        },
        budgets={},
    )
    planned, scores = [], []
    for method in suite.methods:
        own = {task.name: cells.get((method.name, task.name)) for task in suite.tasks}
        seeds = _seeds([of for of in own.values() if of is not None], paired=paired)
        for task in suite.tasks:
            cell = _cell(suite.name, task, method, seeds)
            planned.append(cell)
            scores += _scores(cell, own[task.name])
    most = max(len(cell.runs) for cell in planned)
    text = "imported: not run by uqbench"
    budget = Budget(summary=text, steps=1, seeds=most, ranks=True, step_ms=1.0)
    suite.budgets[IMPORTED] = budget
    plan = Plan(suite, IMPORTED, budget, tuple(planned), standard=True)
    return Board(plan, Scores.of(scores), Planned.of(plan), imported=dict(files or {}))


def constants_of(suite: Suite, table: pd.DataFrame) -> Constants:
    """The suite's constants of the tasks of a table, whose names may be written otherwise.

    Raises:
        UqbenchError: the suite has no such task; says the nearest name.
    """
    known = suite.normalization_constants(suite.primary_metric(suite.budget(suite.default_budget)))
    plain = {_plain(name): (of.zero, of.one) for name, of in known.items()}
    for task in dict.fromkeys(table["task"]):
        if _plain(task) not in plain:
            raise unknown(f"task of the suite {suite.name}", task, known)
    return {task: plain[_plain(task)] for task in dict.fromkeys(table["task"])}


def beside(stored: StoredBoard, plan: Plan) -> tuple[list[Cell], Scores]:
    """The rows of an imported board on the tasks of a plan, beside whose runs they have no rank.

    Raises:
        UqbenchError: the board lacks a task.
    """
    path = stored.folder / "scores.csv"
    rows = from_csv(stored_text(stored.checked(path.name), path), str(path)).cells
    primary = plan.suite.primary_metric(plan.budget)
    constants, cells, kept = plan.suite.normalization_constants(primary), [], []
    for task in {cell.task.name: cell.task for cell in plan.cells}.values():
        own = [of for of in rows if _plain(of.task) == _plain(task.name)]
        if not own:
            raise UqbenchError(
                f"--beside: {stored.folder} has no scores of {task.name}; choose among its tasks "
                f"with --tasks: {', '.join(dict.fromkeys(of.task for of in rows))}."
            )
        for of in own:
            method = Method.model_construct(name=of.method, estimator=IMPORTED)
            cell, scale = (
                _cell(plan.suite.name, task, method, of.seeds, "imported"),
                constants[task.name],
            )
            raw = scale.zero + of.score * (scale.one - scale.zero)
            cells.append(cell)
            kept += [
                replace(of[i], task=task.name, values={primary.name: float(raw[i])}, run=run.place)
                for i, run in enumerate(cell.runs)
            ]
    return cells, Scores.of(kept)


def _normalized(table: pd.DataFrame, constants: Constants | None) -> pd.DataFrame:
    for end, column in enumerate(("zero", "one")):
        given = table["task"].map({task: of[end] for task, of in (constants or {}).items()})
        own = table[column] if column in table else pd.Series(np.nan, table.index)
        table[column] = own.fillna(given.astype(float) if constants else float(end))
        if table[column].isna().any():
            task = table.loc[table[column].isna(), "task"].iloc[0]
            raise unknown("task with a score that is 0 and one that is 1", task, constants or {})
    if (same := table["zero"] == table["one"]).any():
        task = table.loc[same, "task"].iloc[0]
        raise UqbenchError(
            f"{task}: the scores that are 0 and 1 are both {table['zero'][same].iloc[0]}."
        )
    table["score"] = (table["score"] - table["zero"]) / (table["one"] - table["zero"])
    return table


def _name(text: str, what: str) -> str:
    """A name as boards can show it: of one line, without what ends a cell of a table."""
    name = text.replace("/", "-").strip()
    if not 0 < len(name) <= 100 or not name.isprintable() or re.search(r"[|`<>\[\]]", name):
        raise UqbenchError(
            f"the {what} {text!r:.60} cannot be shown: expected a name of at most 100 characters, "
            f"without | ` < > [ ]."
        )
    return name


def _plain(task: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _SUFFIX.sub("", _PREFIX.sub("", task)).lower())


def _seeds(cells: list[pd.DataFrame], *, paired: bool) -> list[int]:
    """Numbers of a method's runs: its own seeds where all tasks have them, else 0, 1, …."""
    sets = [set(map(str, cell["seed"])) for cell in cells]
    numbers = {int(seed) for of in sets for seed in of if seed.isdecimal()}
    plain = all(seed.isdecimal() for of in sets for seed in of)
    if plain and (paired or all(of == sets[0] for of in sets)):
        return sorted(numbers)
    return list(range(max(map(len, cells))))


def _cell(
    suite: str, task: Task, method: Method, seeds: list[int], role: RowRole = "method"
) -> Cell:
    identity = {
        "suite": {"name": suite, "version": "1"},
        "budget": {"name": IMPORTED},
        "task": {"name": task.name, "version": IMPORTED},
        "method": {
            "name": method.name, "agent": None, "estimator": IMPORTED, "version": IMPORTED,
            "config": {},
        },
    }  # fmt: skip
    runs = runs_of(suite, IMPORTED, task.name, method.name, identity, seeds)
    return Cell(task, method, None, False, runs, role)


def _scores(cell: Cell, rows: pd.DataFrame | None) -> list[Score]:
    """A score for each planned run: of its seed where the cell's seeds are those, else in order."""
    known: dict[int, float] = {}
    if rows is not None:
        labels = [str(seed) for seed in rows["seed"]]
        numbers = {run.seed for run in cell.runs}
        own = all(of.isdecimal() and int(of) in numbers for of in labels)
        order = [int(of) for of in labels] if own else range(len(labels))
        known = dict(zip(order, map(float, rows["score"]), strict=True))
    found = []
    for run in cell.runs:
        value = known.get(run.seed)
        state = RunState.MISSING if value is None else RunState.FINISHED
        score = value if is_finite(value) else None
        if value is not None and score is None:
            state = RunState.FAILED
        values: dict[str, float | None] = {} if score is None else {METRIC: score}
        found.append(
            Score(
                run.task, run.method, run.seed, state.value, "", score, values, run.place
            )
        )  # fmt: skip
    return found
