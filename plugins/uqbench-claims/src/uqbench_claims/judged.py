"""The matrix of claims: papers by verdict, and how many verdicts may be wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.errors import UqbenchError
from uqbench.statistics.levels import ALPHA
from uqbench_claims.verdict import DECIDED, Verdict

WORDS = tuple(verdict.value for verdict in Verdict)
NOT_RUN = Verdict.NOT_RUN.value
TESTED = WORDS[: WORDS.index(NOT_RUN)]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a board: what was claimed, and what the runs say.

    Attributes:
        tested: whether its runs were compared: only then can the verdict be a wrong one.
        seeds: of the runs.
        parts: how many comparisons it needs, and how many of them are true; none where runs are
            missing.
        needed_here: whether its board is of a budget that it needs.
    """

    board: StoredBoard
    id: str
    verdict: str
    sentence: str
    source: str
    reason: str
    readings: str
    tested: bool
    seeds: int = 0
    parts: tuple[int, int] = (0, 0)
    needed_here: bool = False

    @property
    def paper(self) -> str:
        """The source up to its first comma, as in the index of boards."""
        return self.source.split(",")[0]


@dataclass(frozen=True)
class Counted:
    """Claims of one paper, or of all.

    Attributes:
        wrong: the expected number of wrong verdicts is at most this: each claim that was tested is
            judged wrongly with at most 5 %, whatever its verdict.
    """

    paper: str
    claims: tuple[JudgedClaim, ...]

    def count(self, verdict: str) -> int:
        """The number of claims with a verdict."""
        return sum(claim.verdict == verdict for claim in self.claims)

    @property
    def decided(self) -> int:
        """The number of claims that hold or do not."""
        return sum(self.count(verdict.value) for verdict in DECIDED)

    @property
    def parts(self) -> str:
        """Parts of the claims that hold, of all that were compared with runs."""
        of, true = (sum(claim.parts[i] for claim in self.claims if claim.tested) for i in (0, 1))
        return f"{true} of {of}" if of else ""

    @property
    def tested(self) -> int:
        """The number of claims that were compared with runs."""
        return sum(claim.tested for claim in self.claims)

    @property
    def wrong(self) -> float:
        """At most so many verdicts are expected to be wrong."""
        return ALPHA * self.tested


def judged_claims(board: StoredBoard) -> list[JudgedClaim]:
    """The claims of a board, in its order.

    Raises:
        UqbenchError: ``claims.csv`` is damaged.
    """
    table = board.table("claims.csv")
    if table is None:
        return []
    try:
        return [_judged(board, str(name), own) for name, own in table.groupby("claim", sort=False)]
    except KeyError as error:
        raise UqbenchError(f"{board.folder / 'claims.csv'} is damaged: {error!r:.300}") from None


def _judged(board: StoredBoard, name: str, rows: pd.DataFrame) -> JudgedClaim:
    first = rows.iloc[0]
    verdict, sentence, source = (str(first[key]) for key in ("verdict", "sentence", "source"))
    reason, readings = (str(first.get(key, "")) for key in ("reason", "readings"))
    tested = verdict in TESTED and bool(rows["low"].notna().any()) and board.ranks
    parts = len(rows), int((rows["comparison_is"] == "true").sum())
    needed, seeds = str(first["needs_budget"]).split(), int(first["seeds"])
    here = board.manifest.budget["name"] in needed
    return JudgedClaim(
        board, name, verdict, sentence, source, reason, readings, tested, seeds, parts, here
    )


def distinct(claims: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    """Each claim of a suite once, on the board of a budget that it needs: that of most seeds.

    It is *not run* where no such board is there.
    """
    by_id: dict[tuple[str, str], JudgedClaim] = {}
    for claim in sorted(claims, key=lambda c: (not c.needed_here, c.verdict == NOT_RUN, -c.seeds)):
        by_id.setdefault((claim.board.suite, claim.id), claim)
    return [
        claim if claim.needed_here else replace(claim, verdict=NOT_RUN) for claim in by_id.values()
    ]


def by_paper(claims: Sequence[JudgedClaim]) -> list[Counted]:
    """The distinct claims of each paper, by its name; in a paper by verdict."""
    papers: dict[str, list[JudgedClaim]] = {}
    for claim in distinct(claims):
        papers.setdefault(claim.paper, []).append(claim)
    return [Counted(paper, tuple(own)) for paper, own in sorted(papers.items())]
