"""Is a stored board what follows from its scores? And the same board written anew from these."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from uqbench.boards.leaderboard import Board
from uqbench.boards.manifest import MANIFEST, SCHEMA_VERSION, Planned, missing_note
from uqbench.boards.protocol import check_as_run, older_scores
from uqbench.boards.provenance import of_older_code, provenance_json, read_provenance
from uqbench.boards.scores import gather
from uqbench.boards.stored import PACKED, PAGE, PROVENANCE, RECORDED, SCORES, StoredBoard
from uqbench.contract.errors import Say, UqbenchError
from uqbench.pages.board_folders import all_files, made_once, write_files
from uqbench.registry.plugins import Host
from uqbench.results.files import stored_text
from uqbench.results.scores import Score, Scores
from uqbench.results.store import Store
from uqbench.suites.controls import follows, of_other_runs


def check(stored: StoredBoard, board: Board, store: Store, say: Say) -> bool:
    """Whether a board's files are those that follow from its scores, or were recorded with it.

    Its page must be the one that was written with it, and say what the scores come to; uqbench may
    write pages otherwise by now.

    Its own methods and claims are what is checked: others may be installed here.

    Args:
        stored: the board's folder.
        board: that its scores make.
        store: of runs, with which its rows are compared where they are there.
        say: called with what differs.
    """
    folder, scores = stored.folder, board.scores
    known = stored.has(MANIFEST)
    altered = altered_files(stored) if known else []
    for name in altered:
        say(f"{folder / name}: is not the file whose digest {MANIFEST} lists, or not there")
    listed = stored.manifest.sha256 if known else {}
    digests = {name: digest for name, digest in listed.items() if name in (*RECORDED, PAGE)}
    recorded = stored.recorded
    try:
        expected = all_files(of_own_claims(stored, board), recorded, digests)
    except UqbenchError as error:
        say(f"{folder}: {error}")
        return False
    follow = [name for name in expected if name not in {*recorded, PAGE}]
    differing = [n for n in follow if not stored.has(n) or stored.unchecked(n) != expected[n]]
    both = stored.at.has(PACKED) and stored.at.has(SCORES)
    if both and stored.at.read(SCORES) != stored.unchecked(SCORES):
        altered = [*altered, SCORES]
        say(f"{folder / SCORES}: differs from {PACKED}, which alone is read: remove it")
    if not stored.has(PAGE) or board.finding.encode() not in stored.unchecked(PAGE):
        differing.append(PAGE)
    for name in differing:
        which = {"scores.csv": "its own rows by task, method and seed"}
        say(f"{folder / name}: differs from {which.get(name, 'what follows from scores.csv')}")
    rerun, (measured, later) = _rerun(board, store), _not_results(board)
    others = [m.name for m in board.plan.suite.metrics if of_other_runs(m)]  # as many as are there
    for score in scores:
        own = rerun.get((score.task, score.method, score.seed))
        absent = [name for name in later if name not in score.values]
        if own is not None and board.primary.name in others:
            own = replace(own, score=score.score)
        if own is not None and not same_result(score, own, measured + absent + others):
            differing.append(score.run)
            say(
                f"{folder / 'scores.csv'}: the row of {score.run} differs from the run in "
                f"{store.root}"
            )
    lacking = missing_note(scores, Planned.of(board.plan))
    if lacking:
        say(f"{folder}: {lacking.replace('*', '').replace('`', '')}")
    if not (altered or differing):
        say(
            f"{folder}: {', '.join(n for n in follow if n != SCORES)} "
            f"follow from {SCORES}, byte for byte; "
            f"{len(rerun)} of its {len(scores)} rows compared with runs in {store.root}"
        )
    if rerun and scores.digest_of == "record":
        say(
            f"{folder / 'scores.csv'}: its digests are of run.json, times and all: values were "
            f"compared, digests were not"
        )
    older = of_older_code(scores)
    if older:
        say(f"{folder}: made with other code than is installed: {older}")
    if changed := older_scores(board):
        say(f"{folder}: {changed}")
    return not (altered or differing)


EARLIER = "*Of an earlier protocol ({}): kept as it was written, until it is run again.*"
"""The first line of the page of a board whose suite has changed since."""
SAID = re.compile(re.escape(EARLIER).replace(re.escape("{}"), ".*") + r"\n\n")


def says_earlier(stored: StoredBoard) -> bool:
    """Whether the page of a board says first that it is of an earlier protocol."""
    return stored.has(PAGE) and bool(SAID.search(stored.unchecked(PAGE).decode()))


def mark_earlier(stored: StoredBoard, changed: Sequence[str]) -> list[Path]:
    """Say on a board's page, below its title, what of its suite changed since; no number moves.

    Args:
        stored: the board.
        changed: by :func:`uqbench.boards.protocol.departures`.

    Returns:
        The files that changed.

    Raises:
        UqbenchError: the page is not the one that the manifest lists.
    """
    if PAGE in altered_files(stored):
        raise UqbenchError(
            f"{stored.folder / PAGE} is not the file whose digest {MANIFEST} lists: restore it."
        )
    page = stored.unchecked(PAGE)
    title, rest = re.split(r"(?<=\n\n)(?=[^#<])", SAID.sub("", page.decode()), maxsplit=1)
    said = f"{title}{EARLIER.format('; '.join(changed))}\n\n{rest}".encode()
    then, now = (sha256(text).hexdigest().encode() for text in (page, said))
    files = {PAGE: said, MANIFEST: stored.unchecked(MANIFEST).replace(then, now)}
    for name, data in files.items():
        stored.at.write(name, data)
    return [stored.folder / name for name in files] if page != said else []


def altered_files(stored: StoredBoard) -> list[str]:
    """Files of a board that are not those that its manifest lists, or that it lacks."""
    listed, names = stored.manifest.sha256, (*RECORDED, PAGE)
    has = [name for name in names if stored.has(name)]
    there = {name: sha256(stored.unchecked(name)).hexdigest() for name in has}
    listable = names if stored.manifest.schema_version == SCHEMA_VERSION else listed
    return [name for name in names if name in listable and there.get(name) != listed.get(name)]


def of_own_claims(stored: StoredBoard, board: Board) -> Board:
    """A stored board with those claims alone that ``claims.csv`` has: others came later.

    Raises:
        UqbenchError: ``claims.csv`` is damaged.
    """
    path = stored.folder / "claims.csv"
    text = stored_text(stored.unchecked(path.name), path) if stored.has(path.name) else ""
    known = {row.get("claim") for row in csv.DictReader(io.StringIO(text))}
    claims = tuple(pair for pair in board.plan.claims if pair[0].id in known)
    return replace(board, plan=replace(board.plan, claims=claims))


def _rerun(board: Board, store: Store) -> dict[tuple[str, str, int], Score]:
    """The scores of those of a board's runs that a store has, by task, method and seed."""
    return {(s.task, s.method, s.seed): s for s in gather(board.plan, store) if s.digest}


def _not_results(board: Board) -> tuple[list[str], list[str]]:
    """Metrics of cost, and those that stored runs are scored by: a row may be from before these."""
    metrics = board.plan.suite.metrics
    later = [m.name for m in metrics if follows(m) or m.kind == "online"]
    return [m.name for m in metrics if m.kind == "cost"], later


def with_later(board: Board, store: Store) -> Board:
    """The board with what came after its rows, whose runs are in a store with the same results.

    That is controls, and metrics of training that a row has not. Other rows stay as they are.
    """
    rerun, (measured, later), rows = _rerun(board, store), _not_results(board), []
    online = {metric.name for metric in board.plan.suite.metrics if metric.kind == "online"}
    for row in board.scores:
        own = rerun.get((row.task, row.method, row.seed))
        new = [name for name in later if name not in online & row.values.keys()]
        if own is not None and same_result(row, own, measured + new):
            found = {name: own.values[name] for name in new if name in own.values}
            row = replace(row, values={**row.values, **found})
        rows.append(row)
    return replace(board, gathered=Scores.of(rows))


def rewrite(
    stored: StoredBoard, board: Board, host: Host, new: Mapping[str, bytes] | None = None
) -> list[Path]:
    """Write a board's tables anew from its scores; return what changed.

    ``new`` has what was recorded of rows that joined it.

    Where nothing but the manifest does, what the page says of older code stays as it was.

    Raises:
        UqbenchError: its runs are not those that the plan would run today, or a file that does not
            follow from the scores is not the one that the manifest lists.
    """
    check_as_run(board, stored.folder)
    if stored.has(MANIFEST) and (
        altered := [name for name in altered_files(stored) if name != PAGE]
    ):
        raise UqbenchError(
            f"{stored.folder / altered[0]} is not the file whose digest {MANIFEST} lists, and does "
            f"not follow from the scores: restore it, or write the board again from its runs."
        )
    board = replace(board, planned=Planned.of(board.plan))
    recorded = {**stored.recorded, **made_once(board, host), **(new or {})}

    def changed() -> list[Path]:
        names = (n for n, d in files.items() if not stored.has(n) or stored.unchecked(n) != d)
        return [stored.folder / name for name in names]

    files = all_files(board, recorded)
    if set(changed()) - {stored.folder / MANIFEST}:
        older = of_older_code(board.scores)
        if PROVENANCE in recorded or older:
            made, _ = read_provenance(recorded.get(PROVENANCE))
            recorded[PROVENANCE] = provenance_json(made, older).encode()
        files = all_files(board, recorded)
    paths = changed()
    write_files(files, stored.at, host)
    return paths


def same_result(one: Score, other: Score, measured: Sequence[str] = ()) -> bool:
    """Whether two runs came to the same, bit for bit.

    Metrics that are ``measured`` (of cost) differ from run to run and do not count; neither
    does the digest of a record, in which times are.
    """
    return _result(one, measured) == _result(other, measured) and (
        one.digest == other.digest or "record" in (one.digest_of, other.digest_of)
    )


def _result(of: Score, measured: Sequence[str]) -> tuple[object, ...]:
    """The values on which two equal runs agree; NaN equals NaN."""
    known = {
        name: repr(value)
        for name, value in of.values.items()
        # the older form does not tell what is missing from what has no value
        if name not in measured and value is not None
    }
    score = None if of.score is None else repr(of.score)
    return of.task, of.method, of.seed, of.status, of.device, score, of.run, known
