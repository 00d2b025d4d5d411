"""Rows that join a stored board, whose other runs are not made again."""

from dataclasses import replace

from uqbench.boards.cost import cost_csv
from uqbench.boards.curves import curve_files
from uqbench.boards.leaderboard import Board
from uqbench.boards.provenance import provenance, provenance_json
from uqbench.boards.scores import gather
from uqbench.boards.stored import PROVENANCE, StoredBoard
from uqbench.contract.errors import Say
from uqbench.registry.plugins import Host
from uqbench.results.scores import Scores
from uqbench.results.store import Store
from uqbench.results.tables import parse_table, table_bytes
from uqbench.suites.plan import Plan
from uqbench.suites.selection import Selection


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
        say: called with the methods that join.

    Returns:
        The board, and the recorded files that change with it.
    """
    own = {cell.method for cell in board.scores.cells}
    lacking = tuple(cell for cell in plan.cells if cell.method.name not in own)
    found = gather(replace(plan, cells=lacking), store).cells
    short = {cell.method for cell in found if cell.scored < len(cell.seeds)}
    methods = {cell.method for cell in found} - short
    if not methods:
        return board, {}
    say(f"uqbench: {', '.join(sorted(methods))} joined {stored.folder}.")
    new = replace(plan, cells=tuple(c for c in lacking if c.method.name in methods))
    scores = Scores([cell for cell in found if cell.method in methods])
    named = Selection(plan.suite.name, plan.budget_name, methods=tuple(sorted(own | methods)))
    whole = replace(named.plan(host, "cpu", say), standard=board.plan.standard)
    both = replace(board, plan=whole, gathered=Scores([*board.scores.cells, *scores.cells]))
    made, older = stored.provenance
    _, _, costs = cost_csv(new, scores).partition("\n")
    files = {
        "cost.csv": stored.checked("cost.csv") + costs.encode(),
        PROVENANCE: provenance_json([*made, *provenance(scores)], older).encode(),
    }
    for name, data in curve_files(new, scores, store).items():
        files[name] = _together(stored.checked(name), data) if stored.has(name) else data
    return both, files


def _together(first: bytes, second: bytes) -> bytes:
    """The rows of two files of curves in one."""
    import pyarrow as pa

    tables = [parse_table(data, "curves") for data in (first, second)]
    return table_bytes(pa.concat_tables(tables, promote_options="permissive").unify_dictionaries())
