"""The rows of a submission on a stored board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uqbench.boards.agreement import Agreement
from uqbench.boards.board_files import board_folder, papers
from uqbench.boards.provenance import made_with_json, of_older_code
from uqbench.boards.stored import StoredBoard
from uqbench.boards.submission.curves import CURVE_FILES
from uqbench.boards.submission.curves import merged as merged_curves
from uqbench.boards.submitted import NAME, Submitted, read_submitted, submitted_json
from uqbench.errors import UqbenchError
from uqbench.suites.selection import Say, Selection

if TYPE_CHECKING:
    from uqbench.boards.submission.judge import Judged
    from uqbench.registry.plugins import Host
    from uqbench.suites.plan import Plan


def add(
    judged: Judged, agreement: Mapping[str, Agreement], host: Host, boards: Path, say: Say
) -> StoredBoard:
    """A stored board with the rows of a submission, its tables and page still to be written.

    Args:
        judged: the submission, whose tables follow.
        agreement: of the runs that were made again; a row without any is *self-reported*.
        host: the plugins.
        boards: folder of the leaderboards.
        say: is told which installed methods the board has not.

    Raises:
        UqbenchError: the board has a row of that name already that is not this submission's, or is
            of an earlier protocol.
    """
    index, fresh = judged.bundle.index, judged.stored
    whole = Selection(index.suite, index.budget).plan(host, "cpu", say)
    folder = board_folder(replace(whole, standard=True), boards)
    there = _there(whole, host, folder, fresh, say)
    rows = read_submitted(None if there is None else there.files.get(NAME))
    known = set() if there is None else {score.method for score in there.scores}
    for method in sorted(known & set(index.methods)):
        if method not in rows or rows[method].bundle != judged.bundle.digest:
            raise UqbenchError(
                f"{folder} has a row of {method} already, which is not of this submission; nothing "
                f"is replaced: restore the board without it first."
            )
    counts = Counter(agreement.values())
    for method in index.methods:
        rows[method] = Submitted(
            state="verified" if agreement else "self-reported",
            bundle=judged.bundle.digest,
            agreement=dict(counts),
            checks=dict(judged.checks),
        )
    own = [] if there is None else [s for s in there.scores if s.method not in index.methods]
    scores = sorted([*own, *fresh.scores], key=lambda s: (s.task, s.method, s.seed))
    methods = tuple(sorted({score.method for score in scores}))
    plan = Selection(index.suite, index.budget, methods).plan(host, "cpu", say)
    plan = replace(plan, standard=True)
    older = of_older_code(scores)
    made = [*([] if there is None else there.made[0]), *fresh.made[0]]
    files = {
        "cost.csv": _cost(there, fresh, index.methods),
        "made_with.json": made_with_json(list({str(one): one for one in made}.values()), older),
        "papers.bib": papers(plan, host),
        NAME: submitted_json(rows),
    }
    curves = {
        name: merged_curves(name, data, judged.stored.plan, folder / name, plan)
        for name, data in judged.bundle.files.items()
        if name in CURVE_FILES
    }
    encoded = {name: text.encode() for name, text in files.items()}
    return StoredBoard(folder, encoded | curves, plan, scores)


def _there(
    whole: Plan, host: Host, folder: Path, fresh: StoredBoard, say: Say
) -> StoredBoard | None:
    """The board as it is, None where there is none yet."""
    if not (folder / "scores.csv").exists():
        return None
    selection = Selection(whole.suite.name, whole.budget_name)
    methods = set(fresh.plan.roles)
    others = tuple(cell for cell in whole.cells if cell.method.name not in methods)
    there = StoredBoard.read(
        replace(whole, cells=others or whole.cells, standard=True), selection, host, folder, say
    )
    there.check_as_run()
    if any(score.digest_of != "results" for score in there.scores):
        raise UqbenchError(f"{folder} is of an earlier form; run the suite again first.")
    return there


def _cost(there: StoredBoard | None, fresh: StoredBoard, methods: Sequence[str]) -> str:
    """Both boards' ``cost.csv``, whose second column is the method."""
    header, *new = fresh.files["cost.csv"].decode().splitlines()
    old = [] if there is None else there.files.get("cost.csv", b"").decode().splitlines()[1:]
    kept = [line for line in old if line.split(",")[1] not in methods]
    return "\n".join([header, *kept, *new]) + "\n"
