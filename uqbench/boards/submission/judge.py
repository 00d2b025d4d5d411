"""Whether a submission says what follows from its scores, by the code that is installed here."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from uqbench.boards.cost import CellCost, read_cost
from uqbench.boards.leaderboard import Board
from uqbench.boards.protocol import check_as_run
from uqbench.boards.provenance import MadeWith
from uqbench.boards.scores import DEVICES
from uqbench.boards.stored import PROVENANCE, StoredBoard
from uqbench.boards.submission.bundle import CHECK, LOCK, TABLES, Bundle
from uqbench.boards.submission.make import DONE, involved
from uqbench.contract.errors import Say, UqbenchError
from uqbench.results.folders import Folder
from uqbench.results.states import RunState
from uqbench.suites.selection import Selection

if TYPE_CHECKING:
    from uqbench.registry.plugins import Host
    from uqbench.results.scores import Score
    from uqbench.suites.plan import Plan

DATASET = "uqbench.contract.estimator:Dataset"
STATUSES = ("passed", "failed", "expected", "skipped", "vacuous")
PLAIN = r"[\w .,:;+()/@=~-]{0,200}"
"""What goes onto a page of a board: no other characters than words and numbers have."""


class Findings(BaseModel):
    """What was found out about a submission.

    Attributes:
        suite, budget, methods: that it is of.
        rows: how many rows it has.
        differing: the tables that do not follow from ``scores.csv``.
        checks: how many checks of its plugins were reported, by their outcome.
        broken: required rules that were reported as broken, or plugins of which none was reported.
        versions: libraries that the runs were made with and of which another version is here.
        numbered: how many data sets there are, of each task whose data sets are numbered.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    suite: str
    budget: str
    methods: tuple[str, ...]
    rows: int
    differing: tuple[str, ...]
    checks: dict[str, int]
    broken: tuple[str, ...]
    versions: tuple[str, ...]
    numbered: dict[str, int]

    @property
    def follows(self) -> bool:
        """Whether its tables follow from its scores, and no rule is broken."""
        return not (self.differing or self.broken)


@dataclass(frozen=True)
class Judged:
    """A submission that could be read.

    Attributes:
        board: that its scores make.
        made: what its runs were made with.
        cost: what they cost.
        findings: what became of its checks.
    """

    bundle: Bundle
    board: Board
    made: list[MadeWith]
    cost: list[CellCost]
    findings: Findings


def judge(bundle: Bundle, host: Host, folder: Folder, say: Say) -> Judged:
    """Recompute a submission's tables.

    Args:
        bundle: the submission.
        host: the plugins; its methods must be among them.
        folder: an empty one, for its files while they are read.
        say: called with what cannot be used of the installed suites.

    Raises:
        UqbenchError: a name is unknown here, its runs are not those of the budget as it is written,
            or a file is damaged.
    """
    index = bundle.index
    for name in (*TABLES, PROVENANCE, "cost.csv"):
        folder.write(name, bundle.files[name])
    selection = Selection(index.suite, index.budget, tuple(index.methods))
    plan = selection.plan(host, "cpu", say)
    stored = StoredBoard(folder)
    board = stored.board(plan, selection, host, say)
    check_as_run(board, folder)
    if sorted({score.method for score in board.scores}) != sorted(index.methods):
        raise UqbenchError("scores.csv has rows of other methods than are submitted.")
    for score in board.scores:
        _check_score(score)
    made, _ = stored.provenance
    for one in made:
        for text in _texts(one.__dict__):
            if not re.fullmatch(PLAIN, text):
                raise UqbenchError(
                    f"{PROVENANCE}: {text[:100]!r} is not plain text of at most 200 characters."
                )
    cost = read_cost(bundle.files["cost.csv"].decode(errors="replace"))
    if not {(row.task, row.method) for row in cost} <= {(r.task, r.method) for r in plan.runs}:
        raise UqbenchError("cost.csv is damaged: it has rows of other tasks or methods.")
    expected = stored.own_claims(board).files()
    differing = [name for name in TABLES if bundle.files[name] != expected[name].encode()]
    wanted = {plugin.distribution for plugin in involved(plan, host)}
    checks, broken = _checks(bundle.files[CHECK], wanted)
    findings = Findings(
        suite=index.suite, budget=index.budget, methods=tuple(index.methods),
        rows=len(board.scores), differing=tuple(differing), checks=checks, broken=broken,
        versions=_versions(made, bundle), numbered=_numbered(plan, host),
    )  # fmt: skip
    return Judged(bundle, board, made, cost, findings)


def _numbered(plan: Plan, host: Host) -> dict[str, int]:
    """Number of data sets by task, by the classes: their files need not be on this machine."""
    made = {c.task.name: host.datasets[c.task.dataset] for c in plan.cells if c.task.dataset}
    own: dict[str, Any] = {t: s.load_factory() for t, s in made.items() if s.makes(DATASET)}
    return {task: of.n_datasets for task, of in own.items() if of.n_datasets is not None}


def _check_score(score: Score) -> None:
    """See that what is shown of a row is what uqbench writes; its run is that of the plan."""
    finished = score.status == RunState.FINISHED.value
    known = {
        "status": score.status in DONE,
        "device": score.device in DEVICES or not finished,
        "digest": re.fullmatch(r"[0-9a-f]{64}" if finished else "", score.digest) is not None,
        "content": re.fullmatch(r"([\w.-]{1,100}:[0-9a-f]{8} ?){0,50}", score.content) is not None,
    }
    wrong = [name for name, right in known.items() if not right]
    if wrong:
        raise UqbenchError(
            f"scores.csv: the {wrong[0]} of {score.run} is {getattr(score, wrong[0])[:100]!r}, "
            f"which uqbench submit does not write."
        )


def _texts(value: Any) -> list[str]:
    """All strings in a value of dictionaries."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _checks(data: bytes, wanted: set[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Outcomes of a conformance report, and what it says is broken or lacks."""
    counts: Counter[str] = Counter()
    broken = []
    try:
        report = json.loads(data)
        for distribution, results in report.items():
            for result in results:
                status = result["status"]
                if status not in STATUSES:
                    raise ValueError(f"a status {str(status)[:50]!r}")
                counts[status] += 1
                if status == "failed" and result["level"] == "required":
                    broken.append(f"{distribution}: {result['check']}")
        unchecked = [name for name in sorted(wanted) if not report.get(name)]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UqbenchError(f"{CHECK} is damaged: {type(error).__name__}: {error!s:.300}") from error
    return dict(counts), (*broken, *(f"{name}: nothing was checked" for name in unchecked))


def _versions(provenance: Sequence[MadeWith], bundle: Bundle) -> tuple[str, ...]:
    """The libraries of another version than runs were made with, here or in the lock file."""
    pairs = re.findall(rb"^([\w.-]{1,100})==([\w.+!-]{1,100})", bundle.files[LOCK], re.MULTILINE)
    locked = {name.decode().lower().replace("_", "-"): version.decode() for name, version in pairs}
    differing: dict[str, None] = {}
    for made in provenance:
        for name, version in made.versions.items():
            try:
                here = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue  # Python itself, or what is not needed here
            others = [f"here {here}"] if here != version else []
            if locked.get(name.lower(), version) != version:
                others.append(f"{LOCK} {locked[name.lower()]}")
            if others:
                differing[f"{name} {version} ({', '.join(others)})"] = None
    return tuple(differing)
