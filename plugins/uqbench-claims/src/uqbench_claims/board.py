"""Claims on a board's page, and their matrix on the index of boards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from uqbench.boards.leaderboard import Board
from uqbench.boards.stored import StoredBoard
from uqbench.boards.tables import made
from uqbench.contract.board_table import BoardTable
from uqbench.pages.markdown import cell, table, titled
from uqbench_claims.judge import Judgement, estimates, judged
from uqbench_claims.judged import (
    WORDS,
    Counted,
    JudgedClaim,
    by_paper,
    distinct,
    judged_claims,
)
from uqbench_claims.table import COLUMNS, rows
from uqbench_claims.verdict import Verdict

FEW = 2
"""Comparisons whose estimates a page tells; of more they are in ``claims.csv``."""
BY = """

A claim that one method is better than another compares by P(better), the probability of
improvement, that a run of one beats a run of the other, unless its paper names a statistic; ranks
and `pairs.csv` compare means. So a claim may hold where rank sets overlap."""
"""Below the claims, where any is judged by another statistic than the ranks."""


@dataclass(frozen=True)
class Claims(BoardTable):
    """The table ``claims.csv`` of a board (:class:`uqbench.contract.board_table.BoardTable`)."""

    board: Board

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """The verdicts on the claims of the board's suite."""
        return judged(self.board)

    @property
    def frame(self) -> pd.DataFrame:
        """A row a comparison."""
        return made(rows(self.judgements), COLUMNS)

    @property
    def section(self) -> str:
        """Claims with their verdicts, in Markdown; empty without claims."""
        shown = [
            [_verdict(of), *map(cell, (of.claim.sentence, of.claim.source, _remark(of)))]
            for of in self.judgements
        ]
        by = {f.comparison.statistic for of in self.judgements for f in of.findings}
        section = titled("Claims", "verdict,claim,source,remark", shown)
        return section + BY * any("probability of improvement" in name for name in by)

    @staticmethod
    def entries(stored: StoredBoard) -> Sequence[JudgedClaim]:
        """The judged claims of a stored board."""
        return judged_claims(stored)

    @staticmethod
    def index(entries: Iterable[JudgedClaim]) -> str:
        """The matrix of papers and verdicts, in Markdown."""
        claims = [*entries]
        papers = [*by_paper(claims), Counted("**all**", tuple(distinct(claims)))]
        matrix = [[of.paper, *(str(of.count(word)) for word in WORDS), of.parts] for of in papers]
        return "\n\n".join(
            [
                "## Claims of the papers",
                "Each claim once, on the budget that it needs.",
                table(["paper", *WORDS, "parts that hold"], matrix),
            ]
        )


def _remark(judged: Judgement) -> str:
    """Few estimates, then the reason, which has them of a claim that was not run."""
    few = 0 < len(judged.findings) <= FEW and judged.verdict is not Verdict.NOT_RUN
    told = [estimates(judged.claim, judged.findings)] if few else []
    return "; ".join(filter(None, [*told, judged.reason]))


def _verdict(judged: Judgement) -> str:
    names = ", ".join(f"`{name}`" for name in judged.readings)
    under = f" under the reading{'s'[: len(judged.readings) > 1]} {names}" if names else ""
    return f"**{judged.verdict.value}**{under}"
