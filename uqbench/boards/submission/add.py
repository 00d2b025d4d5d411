"""The rows of a submission on a stored board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from uqbench.boards.cost import read_cost, to_csv
from uqbench.boards.leaderboard import Board
from uqbench.boards.made_once import made_once
from uqbench.boards.provenance import of_older_code, provenance_json
from uqbench.boards.stored import PROVENANCE, StoredBoard, board_folder
from uqbench.boards.submitted import NAME, Submitted, states, submitted_json
from uqbench.boards.verification import Verification
from uqbench.boards.with_stored import as_run_today
from uqbench.contract.errors import Say, UqbenchError
from uqbench.results.folders import Folder
from uqbench.results.scores import Scores
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    from uqbench.boards.submission.judge import Judged
    from uqbench.registry.plugins import Host


def add(
    judged: Judged,
    verified: Mapping[str, Verification],
    sandbox: bool,
    host: Host,
    boards: Folder,
    say: Say,
) -> tuple[Folder, Board, dict[str, bytes]]:
    """A stored board with the rows of a submission, still to be written.

    Args:
        judged: the submission, whose tables follow.
        verified: what is known of each method; a row of none is *self-reported*.
        sandbox: whether its runs were made in one.
        host: the plugins.
        boards: folder of the leaderboards.
        say: called with the installed methods that the board lacks.

    Returns:
        Where it belongs, the board of all its rows, and its files that do not follow from these.

    Raises:
        UqbenchError: the board has a row of that name already that is not this submission's, or is
            of an earlier protocol.
    """
    index = judged.bundle.index
    whole = Selection(index.suite, index.budget).plan(host, "cpu", say)
    folder = board_folder(replace(whole, standard=True), boards)
    stored, there = StoredBoard(folder), []
    if stored.has("scores.csv"):
        there = list(as_run_today(stored, whole, judged.board.plan.roles, host, say).scores)
        if any(score.digest_of != "results" for score in there):
            raise UqbenchError(f"{folder} is of an earlier form; run the suite again first.")
    rows = stored.submitted
    for method in sorted({score.method for score in there} & set(index.methods)):
        if method not in rows or rows[method].bundle != judged.bundle.digest:
            raise UqbenchError(
                f"{folder} has a row of {method} already, which is not of this submission; nothing "
                f"is replaced: restore the board without it first."
            )
    for method in index.methods:
        rows[method] = Submitted.of(
            verified.get(method), judged.bundle.digest, judged.findings.checks, sandbox
        )
    own = [score for score in there if score.method not in index.methods]
    scores = Scores.of([*own, *judged.board.scores])
    methods = tuple(sorted({cell.method for cell in scores.cells}))
    plan = replace(
        Selection(index.suite, index.budget, methods).plan(host, "cpu", say), standard=True
    )
    recorded = stored.recorded
    made = [*stored.provenance[0], *judged.made]
    costs = [
        row
        for row in read_cost(recorded.get("cost.csv", b"").decode())
        if row.method not in index.methods
    ]
    board = replace(Board.of(plan, scores), submitted=states(rows))
    recorded |= {
        **made_once(board, host),
        "cost.csv": to_csv([*costs, *judged.cost]).encode(),
        PROVENANCE: provenance_json(
            list({str(one): one for one in made}.values()), of_older_code(scores)
        ).encode(),
        NAME: submitted_json(rows).encode(),
    }
    return folder, board, recorded
