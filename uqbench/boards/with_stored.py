"""``uqbench run --beside``: one's own runs in a stored board, whose runs are not made again."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uqbench.boards.imported import beside
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import MANIFEST
from uqbench.boards.protocol import check_as_run, older_scores
from uqbench.boards.provenance import MadeWith
from uqbench.boards.scores import gather
from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.contract.errors import Say, UqbenchError
from uqbench.results.folders import Folder
from uqbench.results.scores import Scores
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
        scores = Scores([*own.scores.cells, *gather(plan, store).cells])
        board = Board.of(replace(plan, cells=cells, standard=False), scores)
        whole = replace(board, submitted=own.submitted, made_by=own.made_by, first_run=own.began)
        return replace(whole, origins=dict.fromkeys(own.plan.roles, str(self.folder)))


def read_reference(
    selection: Selection, plan: Plan, host: Host, boards: Folder, say: Say
) -> Reference:
    """The stored board that a plan's methods are to be shown in, or imported rows beside them.

    Raises:
        UqbenchError: there is none, it was run with other settings or versions than would be today,
            scored by another metric, or has one of the plan's methods.
    """
    if boards.has(MANIFEST) and (at := StoredBoard.read(boards.path)).manifest.imported is not None:
        cells, rows = beside(at, plan)
        return Reference(at.at, Board.of(replace(plan, cells=tuple(cells)), rows), [])
    if cut := [f"--{of}" for of in ("steps", "tasks") if getattr(selection, of) is not None]:
        raise UqbenchError(f"--beside: leave out {' and '.join(cut)}: stored runs have all.")
    if not selection.methods:
        raise UqbenchError("--beside: name your methods with --methods; the others are stored.")
    whole = Selection(plan.suite.name, plan.budget_name).plan(host, "cpu", say)
    folder = board_folder(replace(plan, standard=True), boards)
    stored = StoredBoard(folder)
    board = as_run_today(stored, whole, plan.roles, host, say)
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


def as_run_today(
    stored: StoredBoard, whole: Plan, methods: Container[str], host: Host, say: Say
) -> Board:
    """The board that a folder's scores make, with rows that would be run like that today.

    Args:
        stored: the folder.
        whole: the plan of all methods that are installed.
        methods: those of them that are to join, and need not be there.
        host: the plugins.
        say: called with the other methods that the board lacks.

    Raises:
        UqbenchError: it is of an earlier protocol, or its scores are not those of the plan.
    """
    others = tuple(cell for cell in whole.cells if cell.method.name not in methods)
    plan = replace(whole, cells=others or whole.cells)
    board = stored.board(plan, Selection(whole.suite.name, whole.budget_name), host, say)
    check_as_run(board, stored.folder)
    if older := older_scores(board):
        say(f"uqbench: {stored.folder}: {older}")
    return board
