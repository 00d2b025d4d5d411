"""Rows of imported boards, whose scores uqbench did not make: beside runs they have no rank.

The package uqbench-compare makes such boards; their manifest lists the digests of the files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from uqbench.boards.scores import from_csv
from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError
from uqbench.contract.identity import runs_of
from uqbench.results.files import stored_text
from uqbench.results.scores import Scores
from uqbench.suites.plan import Cell, Plan, RowRole
from uqbench.suites.suite import Suite
from uqbench.suites.tables import Method, Task

IMPORTED = "imported"
"""The board of a suite that holds imported scores, and the role of such rows beside runs."""
_PREFIX, _SUFFIX = re.compile(r"^ALE/"), re.compile(r"((NoFrameskip|Deterministic)?-v\d+)$")


def plain_name(task: str) -> str:
    """A task's name in letters and digits alone, without the version of an environment."""
    return re.sub(r"[^a-z0-9]", "", _SUFFIX.sub("", _PREFIX.sub("", task)).lower())


def imported_cell(
    suite: Suite, task: Task, method: str, seeds: Sequence[int], role: RowRole = "method"
) -> Cell:
    """A method's imported runs of a task."""
    made: dict[str, Any] = {"agent": None, "estimator": IMPORTED, "version": IMPORTED, "config": {}}
    identity = {"task": {"version": IMPORTED}, "method": {"name": method, **made}}
    runs = runs_of(suite.name, IMPORTED, task.name, method, identity, seeds)
    return Cell(
        task, Method.model_construct(name=method, estimator=IMPORTED), None, False, runs, role
    )


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
        its = [of for of in rows if plain_name(of.task) == plain_name(task.name)]
        if not its:
            raise UqbenchError(
                f"--beside: {stored.folder} has no scores of {task.name}; choose among its tasks "
                f"with --tasks: {', '.join(dict.fromkeys(of.task for of in rows))}."
            )
        for of in its:
            cell = imported_cell(plan.suite, task, of.method, of.seeds, "imported")
            scale = constants[task.name]
            raw = scale.zero + of.score * (scale.one - scale.zero)
            cells.append(cell)
            for i, run in enumerate(cell.runs):
                own: dict[str, float | None] = {primary.name: float(raw[i])}
                kept.append(replace(of[i], task=task.name, values=own, run=run.place))
    return cells, Scores.of(kept)
