"""Rows that join a stored board, whose other runs are not made again."""

from dataclasses import replace

from uqbench.boards.cost import cost_csv, read_cost, to_csv
from uqbench.boards.curves import curve_files
from uqbench.boards.leaderboard import Board
from uqbench.boards.protocol import older_scores
from uqbench.boards.provenance import provenance, provenance_json
from uqbench.boards.scores import gather
from uqbench.boards.stored import PROVENANCE, StoredBoard
from uqbench.contract.errors import Say, UqbenchError
from uqbench.registry.plugins import Host
from uqbench.results.files import stored_text
from uqbench.results.scores import Scores
from uqbench.results.store import Store
from uqbench.results.tables import RESULTS, parse_table, table_bytes
from uqbench.suites.plan import Plan
from uqbench.suites.selection import Selection

COST = "cost.csv"


def joined(
    stored: StoredBoard, board: Board, plan: Plan, store: Store, host: Host, say: Say
) -> tuple[Board, dict[str, bytes]]:
    """A stored board with those methods that it lacks and whose runs are all in a store.

    Args:
        stored: the folder.
        board: that its scores make.
        plan: of all methods that are installed.
        store: of runs.
        host: the plugins.
        say: called with why none can join, where runs of some are there.

    Returns:
        The board, and the recorded files that change with it.
    """
    own = {cell.method for cell in board.scores.cells}
    lacking = tuple(cell for cell in plan.cells if cell.method.name not in own)
    try:
        found = gather(replace(plan, cells=lacking), store).cells
    except UqbenchError as error:
        say(f"uqbench: no method joins {stored.folder}: {error}")
        return board, {}
    methods = {cell.method for cell in found if cell.scored}
    for name in sorted(methods):
        cells = [cell for cell in found if cell.method == name]
        if short := sum(len(cell.seeds) - cell.scored for cell in cells):
            say(f"uqbench: {name} does not join {stored.folder}: {short} of its runs are missing.")
            methods.remove(name)
    why = _no_room(stored, board)
    if methods and why:
        say(f"uqbench: {', '.join(sorted(methods))} cannot join {stored.folder}: {why}.")
    if not methods or why:
        return board, {}
    new = replace(plan, cells=tuple(c for c in lacking if c.method.name in methods))
    scores = Scores([cell for cell in found if cell.method in methods])
    named = Selection(plan.suite.name, plan.budget_name, methods=tuple(sorted(own | methods)))
    whole = replace(named.plan(host, "cpu", say), standard=board.plan.standard)
    both = replace(board, plan=whole, gathered=Scores([*board.scores.cells, *scores.cells]))
    return both, _recorded(stored, new, scores, store)


def _no_room(stored: StoredBoard, board: Board) -> str:
    """Why a board's own rows could not stay as they are beside new ones; empty where they can."""
    if stored.submitted:
        return "it has submitted rows, of other seeds"
    if board.scores.digest_of != RESULTS:
        return "its digests are of records, an earlier form"
    return older_scores(board).rstrip(".")


def _recorded(stored: StoredBoard, new: Plan, scores: Scores, store: Store) -> dict[str, bytes]:
    """Those recorded files that the board has, with what is of the new runs."""
    files = {}
    if stored.has(COST):
        costs = [stored_text(stored.checked(COST), stored.folder / COST), cost_csv(new, scores)]
        files[COST] = to_csv([row for text in costs for row in read_cost(text)]).encode()
    if stored.has(PROVENANCE):
        made, older = stored.provenance
        every = sorted([*made, *provenance(scores)], key=lambda one: (-one.runs, one.first))
        files[PROVENANCE] = provenance_json(every, older).encode()
    for name, data in curve_files(new, scores, store).items():
        if stored.has(name):
            files[name] = _together(stored.checked(name), data)
    return files


def _together(first: bytes, second: bytes) -> bytes:
    """The rows of two files of curves in one."""
    import pyarrow as pa

    tables = [parse_table(data, "curves") for data in (first, second)]
    return table_bytes(pa.concat_tables(tables, promote_options="permissive").unify_dictionaries())
