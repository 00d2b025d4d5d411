"""``uqbench run --beside``: one's own runs in a stored board, whose runs are not made again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uqbench.boards.board_files import board_folder
from uqbench.boards.leaderboard import Board
from uqbench.boards.protocol import check_as_run
from uqbench.boards.provenance import MadeWith
from uqbench.boards.scores import gather
from uqbench.boards.stored import StoredBoard
from uqbench.errors import Say, UqbenchError
from uqbench.results.folders import Folder
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.results.store import Store
    from uqbench.suites.plan import Plan


@dataclass(frozen=True)
class Reference:
    """A stored board to compare with.

    Attributes:
        folder: of the board.
        board: that its scores make.
        made: what its runs were made with.
    """

    folder: Folder
    board: Board
    made: list[MadeWith]

    def with_runs(self, plan: Plan, store: Store) -> Board:
        """The board with a plan's runs in it: ranks, pairs and claims are of all of them."""
        own = self.board
        cells = (*own.plan.cells, *plan.cells)
        scores = sorted(
            [*own.scores, *gather(plan, store)], key=lambda s: (s.task, s.method, s.seed)
        )
        return replace(
            Board.of(replace(plan, cells=cells, standard=False), scores),
            origins=dict.fromkeys(own.plan.roles, str(self.folder)),
            submitted=own.submitted,
        )


def read_reference(
    selection: Selection, plan: Plan, host: Host, boards: Folder, say: Say
) -> Reference:
    """The stored board that a plan's methods are to be shown in.

    Raises:
        UqbenchError: there is none, it was run with other settings or versions than would be today,
            scored by another metric, or has one of the plan's methods.
    """
    if not selection.methods or selection.steps is not None or selection.tasks is not None:
        raise UqbenchError(
            "--beside: name your methods with --methods, and leave --steps and --tasks as they "
            "are: stored runs are of all tasks, and as long as the budget says."
        )
    whole = Selection(plan.suite.name, plan.budget_name)
    folder = board_folder(replace(plan, standard=True), boards)
    installed = whole.plan(host, "cpu", say)
    others = tuple(cell for cell in installed.cells if cell.method.name not in plan.roles)
    stored = StoredBoard(folder)
    board = stored.board(replace(installed, cells=others), whole, host, say)
    check_as_run(board, folder)
    both = sorted(board.plan.roles.keys() & plan.roles.keys())
    if both:
        raise UqbenchError(
            f"--beside: {', '.join(both)} is on {folder} already; name only what is not."
        )
    primary = plan.suite.primary_metric(plan.budget)
    then = {**stored.primary}
    changed = [key for key, value in primary.definition().items() if then.get(key, value) != value]
    if changed:
        raise UqbenchError(
            f"--beside: {folder} is scored by another {primary.name!r} than the suite has now: "
            f"{', '.join(changed)} changed; run the suite again instead."
        )
    return Reference(folder, board, stored.provenance[0])
