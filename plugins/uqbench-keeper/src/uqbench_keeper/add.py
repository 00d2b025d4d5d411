"""The row of a submission on a stored board."""

from dataclasses import replace

from uqbench.boards.cost import cost_csv, read_cost, to_csv
from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import MANIFEST
from uqbench.boards.provenance import of_older_code, provenance_json
from uqbench.boards.stored import PROVENANCE, StoredBoard, board_folder
from uqbench.boards.submitted import NAME, TABLE, reseeded, states
from uqbench.boards.with_stored import as_run_today
from uqbench.contract.errors import Say, UqbenchError
from uqbench.pages.board_folders import made_once
from uqbench.registry.plugins import Host
from uqbench.results.folders import Folder
from uqbench.results.scores import Scores
from uqbench.suites.selection import Selection
from uqbench_keeper.verify import SubmittedRow


def add(
    row: SubmittedRow, host: Host, boards: Folder, say: Say
) -> tuple[Folder, Board, dict[str, bytes]]:
    """A stored board with the row of a submission, still to be written.

    Args:
        row: of the submission.
        host: the plugins.
        boards: folder of the leaderboards.
        say: called with the installed methods that the board lacks.

    Returns:
        Where it belongs, the board of all its rows, and its files that do not follow from these.

    Raises:
        UqbenchError: the board has a row of that name already, or is of an earlier protocol.
    """
    suite, budget, (name,) = row.plan.suite.name, row.plan.budget_name, row.plan.roles
    whole = Selection(suite, budget).plan(host, "cpu", say)
    folder = board_folder(replace(whole, standard=True), boards)
    stored, cells, made_by = StoredBoard(folder), [], None
    words = stored.submitted
    if stored.has(MANIFEST) or stored.has("scores.csv"):
        today = as_run_today(stored, whole, [name], host, say)
        there, made_by = today.scores, today.made_by
        if there.digest_of != "results":
            raise UqbenchError(f"{folder} is of an earlier form; run the suite again first.")
        cells = [cell for cell in there.cells if cell.method != name]
        before = words.get(name)
        again = before and (before.state, before.file) == ("self-reported", row.word.file)
        if len(cells) < len(there.cells) and not again:
            raise UqbenchError(
                f"{folder} has a row of {name} already, which is not a self-reported one of this "
                f"submission; nothing is replaced: restore the board without it first."
            )
    words[name] = row.word
    scores = Scores([*cells, *row.scores.cells])
    names = tuple(sorted({cell.method for cell in scores.cells}))
    seeds = {cell.method: cell.seeds for cell in scores.cells if cell.method in words}
    plan = reseeded(Selection(suite, budget, names).plan(host, "cpu", say), seeds)
    plan, recorded = replace(plan, standard=True), stored.recorded
    cost = [recorded.get("cost.csv", b"").decode(), cost_csv(row.plan, row.scores)]
    made = [*stored.provenance[0], *row.made]
    board = replace(
        Board.of(plan, scores),
        submitted=states(words),
        made_by=made_by,
        first_run=min((one.first for one in made), default=""),
    )
    recorded |= {
        **made_once(board, host),
        "cost.csv": to_csv([one for text in cost for one in read_cost(text)]).encode(),
        PROVENANCE: provenance_json(made, of_older_code(scores)).encode(),
        NAME: TABLE.dump_json(dict(sorted(words.items())), indent=1) + b"\n",
    }
    return folder, board, recorded
