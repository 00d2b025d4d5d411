"""The difference that so many seeds show, by the intervals of a board's pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import sqrt
from statistics import median

from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count
from uqbench.results.folders import Folder
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS, POWER
from uqbench.statistics.quantiles import t_quantile
from uqbench.suites.plan import Plan


def detectable(intervals: Sequence[tuple[float, float]], then: int, seeds: int) -> str:
    """The difference of scores that the median pair of methods shows, in a sentence.

    Args:
        intervals: of the differences of pairs that were compared together.
        then: seeds that they are of.
        seeds: that there are, or are to be.
    """
    if seeds < MINIMUM_SEEDS:
        return f"{count(seeds, 'seed')} are too few to distinguish any methods."
    half = median(high - low for low, high in intervals) / 2
    level = 1 - ALPHA / 2 / len(intervals)
    error = half / t_quantile(level, 2 * then - 2) * sqrt(then / seeds)
    reach = error * sum(t_quantile(p, 2 * seeds - 2) for p in (level, POWER))
    return (
        f"{count(seeds, 'seed')} tell two methods apart that differ by {reach:.2g} of score, with "
        f"{100 * POWER:.0f} % probability (the median pair)."
    )


def detectable_note(plan: Plan, roots: Iterable[Folder]) -> str:
    """The difference that a plan's seeds show, by the budget's board; empty where there is none.

    Args:
        plan: the runs that are to be made.
        roots: folders of leaderboards; the first that has the budget's board counts.
    """
    seeds = max(len(cell.runs) for cell in plan.cells)
    for root in roots:
        stored = StoredBoard(board_folder(replace(plan, standard=True), root))
        if not stored.has("pairs.csv") or not plan.budget.ranks:
            continue
        try:
            pairs = stored.pairs.dropna(subset=["p_adjusted", "difference_low", "difference_high"])
            then = int(stored.scores.groupby(["method", "task"]).size().max())
        except (UqbenchError, KeyError):  # a damaged board is no reason not to say what would run
            continue
        if not pairs.empty:
            of = [*zip(pairs["difference_low"], pairs["difference_high"], strict=True)]
            return f"By {stored.folder}, {detectable(of, then, seeds)}"
    return ""
