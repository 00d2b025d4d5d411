"""``uqbench run --beside``: one's own runs in a stored board, whose runs are not made again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.boards.stored import StoredBoard
from uqbench.errors import UqbenchError
from uqbench.suites.selection import Say, Selection

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.suites.plan import Plan


def read_beside(
    selection: Selection, plan: Plan, host: Host, boards: Path, say: Say
) -> StoredBoard:
    """The stored board that a plan's methods are to be shown in.

    Raises:
        UqbenchError: there is none, it was run with other settings or versions than would be today,
            scored by another metric, or has one of the plan's methods.
    """
    from uqbench.boards.board_files import board_folder

    if not selection.methods or selection.steps is not None or selection.tasks is not None:
        raise UqbenchError(
            "--beside: name your methods with --methods, and leave --steps and --tasks as they "
            "are: stored runs are of all tasks, and as long as the budget says."
        )
    whole = Selection(plan.suite.name, plan.budget_name)
    folder = board_folder(replace(plan, standard=True), boards)
    installed = whole.plan(host, "cpu", say)
    others = tuple(cell for cell in installed.cells if cell.method.name not in plan.roles)
    stored = StoredBoard.read(replace(installed, cells=others), whole, host, folder, say)
    stored.check_as_run()
    both = sorted(stored.plan.roles.keys() & plan.roles.keys())
    if both:
        raise UqbenchError(
            f"--beside: {', '.join(both)} is on {folder} already; name only what is not."
        )
    primary = plan.suite.primary_metric(plan.budget)
    try:
        known = json.loads(stored.files["manifest.json"])["primary_metric"]
    except (KeyError, TypeError, ValueError) as error:
        raise UqbenchError(f"{folder / 'manifest.json'} is damaged or missing: {error}") from None
    changed = [key for key, value in primary.definition().items() if known.get(key, value) != value]
    if changed:
        raise UqbenchError(
            f"--beside: {folder} is scored by another {primary.name!r} than the suite has now: "
            f"{', '.join(changed)} changed; run the suite again instead."
        )
    return stored


def beside(plan: Plan, stored: StoredBoard, store: Store) -> Board:
    """The stored board with the plan's runs in it: ranks, pairs and claims are of all of them."""
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.scores import gather

    cells = (*stored.plan.cells, *plan.cells)
    scores = sorted(
        [*stored.scores, *gather(plan, store)], key=lambda s: (s.task, s.method, s.seed)
    )
    origins = dict.fromkeys(stored.plan.roles, str(stored.folder))
    return replace(
        Board.of(replace(plan, cells=cells, standard=False), scores),
        origins=origins,
        submitted=stored.submitted,
    )
