"""The matrix of claims: papers by verdict, and how many verdicts may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uqbench.claims.verdict import Verdict
from uqbench.plots.tables import BoardTables
from uqbench.statistics.levels import ALPHA

WORDS = tuple(verdict.value for verdict in Verdict)
TESTED = (Verdict.HOLDS.value, Verdict.DOES_NOT_HOLD.value, Verdict.UNDECIDED.value)
SIGNS = {
    "holds": "●",
    "does not hold": "✕",
    "undecided": "◐",
    "not run": "○",
}
"""A verdict's sign, which says it without color."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a board: what was claimed, and what the runs say.

    Attributes:
        tested: whether its runs were compared: only then can the verdict be a wrong one.
    """

    board: BoardTables
    id: str
    verdict: str
    sentence: str
    source: str
    reason: str
    readings: str
    tested: bool

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
        """How many have a verdict."""
        return sum(claim.verdict == verdict for claim in self.claims)

    @property
    def decided(self) -> int:
        """How many hold, or do not."""
        return self.count(WORDS[0]) + self.count(WORDS[1])

    @property
    def tested(self) -> int:
        """How many were compared with runs."""
        return sum(claim.tested for claim in self.claims)

    @property
    def wrong(self) -> float:
        """At most so many verdicts are expected to be wrong."""
        return ALPHA * self.tested


def judged_claims(board: BoardTables) -> list[JudgedClaim]:
    """The claims of a board, in its order."""
    if not board.has("claims.csv"):
        return []
    found = []
    for claim, rows in board.claims.groupby("claim", sort=False):
        row = rows.iloc[0]
        compared = rows["low"].notna().any() and row["verdict"] in TESTED
        found.append(
            JudgedClaim(
                board=board,
                id=str(claim),
                verdict=str(row["verdict"]),
                sentence=str(row["sentence"]),
                source=str(row["source"]),
                reason=str(row["reason"]),
                readings=str(row.get("readings", "")),
                tested=bool(compared and board.ranks),
            )
        )
    return found


def by_paper(claims: Sequence[JudgedClaim]) -> list[Counted]:
    """The claims of each paper, by its name; in a paper by verdict."""
    papers = sorted({claim.paper for claim in claims})
    order = {word: place for place, word in enumerate(WORDS)}
    return [
        Counted(
            paper,
            tuple(
                sorted(
                    (claim for claim in claims if claim.paper == paper),
                    key=lambda claim: order.get(claim.verdict, len(order)),
                )
            ),
        )
        for paper in papers
    ]
