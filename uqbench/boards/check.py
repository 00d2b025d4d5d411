"""A stored board against what follows from it, and its tables written anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from uqbench.boards.board_files import papers, write_index
from uqbench.boards.leaderboard import write
from uqbench.boards.planned import Planned, missing_note
from uqbench.boards.provenance import made_with_json, of_older_code
from uqbench.boards.scores import gather
from uqbench.boards.stored import StoredBoard
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.suites.selection import Say


def check(stored: StoredBoard, store: Store, say: Say) -> bool:
    """Whether a board's tables are those that follow from its scores.

    Its own methods and claims are what is checked: others may be installed here.

    Args:
        stored: the board.
        store: of runs, with which its rows are compared where they are there.
        say: is told what differs.
    """
    folder, scores = stored.folder, stored.scores
    plan = replace(stored.plan, claims=stored.own_claims)
    expected = stored.tables(plan, stored.made[1], stored.planned)
    differing = [name for name, text in expected.items() if stored.files.get(name) != text.encode()]
    for name in differing:
        say(f"{folder / name}: differs from what follows from scores.csv")
    runs = {(s.task, s.method, s.seed): s for s in gather(plan, store) if s.digest}
    measured = [metric.name for metric in plan.suite.metrics if metric.kind == "cost"]
    for score in scores:
        own = runs.get((score.task, score.method, score.seed))
        if own is not None and not score.same_result(own, measured):
            differing.append(score.run)
            say(
                f"{folder / 'scores.csv'}: the row of {score.run} differs from the run in "
                f"{store.root}"
            )
    lacking = missing_note(scores, Planned.of(plan))
    if lacking:
        say(f"{folder}: {lacking.replace('*', '').replace('`', '')}")
    if not differing:
        say(
            f"{folder}: {', '.join(expected)} follow from scores.csv, byte for byte; "
            f"{len(runs)} of its {len(scores)} rows compared with runs in {store.root}"
        )
    if runs and scores[0].digest_of == "record":
        say(
            f"{folder / 'scores.csv'}: its digests are of run.json, times and all: values were "
            f"compared, digests were not"
        )
    older = of_older_code(scores)
    if older:
        say(f"{folder}: of older code than is installed here: {older}")
    return not differing


def rewrite(stored: StoredBoard, host: Host) -> list[Path]:
    """Write the tables anew from the stored scores; return those that changed.

    Raises:
        UqbenchError: the runs are not those that would be made today.
    """
    stored.check_as_run()
    older = of_older_code(stored.scores)
    bibtex = papers(stored.plan, host)
    cited = replace(stored, files={**stored.files, "papers.bib": bibtex.encode()})
    files = cited.tables(stored.plan, older, Planned.of(stored.plan)) | {"papers.bib": bibtex}
    if "made_with.json" in stored.files or older:
        files["made_with.json"] = made_with_json(stored.made[0], older)
    changed = [name for name, text in files.items() if stored.files.get(name) != text.encode()]
    write(files, stored.folder)
    write_index(stored.folder.parents[1], host)
    return [stored.folder / name for name in changed]
