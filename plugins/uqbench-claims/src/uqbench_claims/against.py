"""One method of a board against another, in a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from uqbench.boards.tables import label
from uqbench.contract.claim import Comparison, Evidence, Interval, Region
from uqbench.contract.errors import UqbenchError, unknown
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench_claims.decision import Finding, seeds_needed

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board
    from uqbench.boards.stored import StoredBoard


@dataclass(frozen=True)
class Bracket:
    """A difference with its interval from so many ``runs``, taken as about normal.

    ``alpha`` is one minus the interval's level.
    """

    estimate: float
    low: float
    high: float
    runs: int
    alpha: float

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The interval of level ``1 − alpha``, as it is or as so many seeds would have it."""
        wider, known = (NormalDist().inv_cdf(1 - level / 2) for level in (alpha, self.alpha))
        by = wider / known * math.sqrt(self.runs / (seeds or self.runs))
        below, above = self.estimate - self.low, self.high - self.estimate
        return self.estimate - by * below, self.estimate + by * above


def against(board: Board | StoredBoard, first: str, second: str) -> str:
    """Compare two methods of a board in a sentence, by ``pairs.csv``: which is better, by how much.

    Where the runs do not tell, with the seeds that would, if there is a difference.

    Raises:
        UqbenchError: the board has no such pair of methods; says the nearest name.
    """
    pairs, scores, what = board.table("pairs.csv"), board.table("scores.csv"), label(board.ranking)
    if pairs is None or scores is None:
        raise UqbenchError(f"{board.title} has no pairs.csv: write the board again from its runs.")
    seeds = min(scores[scores["method"] == one]["seed"].nunique() for one in (first, second))
    names = sorted({*pairs["first"], *pairs["second"]})
    for name, others in ((first, names), (second, [one for one in names if one != first])):
        if name not in others:
            where = f"pairs.csv of {board.title} (methods with all of their runs) has"
            raise unknown("method", name, others, where)
    pair = pairs.set_index(["first", "second"]).loc[tuple(sorted((first, second)))]
    sign = 1 if first < second else -1
    low, high = sorted(sign * pair[f"difference_{end}"] for end in ("low", "high"))
    if math.isnan(pair["p"]):
        shown = f"{sign * pair['difference']:+.3g} in {what}"
        why = "too few seeds to compare" if seeds < MINIMUM_SEEDS else "all runs of each are equal"
        return f"{first} against {second} on {board.title}: {shown}, and no interval, since {why}."
    family = 1 if math.isnan(pair["p_adjusted"]) else int(pairs["p_adjusted"].notna().sum())
    alpha, p, told = ALPHA / family, pair["p" if family == 1 else "p_adjusted"], ""
    found = Bracket(float(sign * pair["difference"]), float(low), float(high), seeds, alpha)
    said = f"significantly {'better' if found.estimate >= 0 else 'worse'} than {second}"
    if p > ALPHA:
        comparison = Comparison(f"{first} over {second}", what, found, Region(low=0.0))
        open_one = (Finding(comparison, alpha, None, None),)
        price = seeds_needed(Evidence((comparison,)), open_one, seeds).told(seeds)
        told = f"; if there is a difference, {price}; adding seeds after looking needs a correction"
        said = f"not {said}"
    shown = f"adjusted p = {p:.2g} ({family} comparisons)" if family > 1 else f"p = {p:.2g}"
    return (
        f"{first} is {said} on {board.title}: {found.estimate:+.3g} [{low:.3g}, {high:.3g}] in "
        f"{what}, {shown}{told}."
    )
