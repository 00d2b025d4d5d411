"""Which difference so many seeds show, by the intervals of a stored board."""

from collections.abc import Iterable
from dataclasses import replace
from math import sqrt

from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count
from uqbench.results.folders import Folder
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS, POWER
from uqbench.statistics.quantiles import t_quantile
from uqbench.suites.plan import Plan


def detectable_note(plan: Plan, roots: Iterable[Folder]) -> str:
    """The difference of scores that the median pair of methods shows, in a sentence.

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
        if pairs.empty:
            continue
        if seeds < MINIMUM_SEEDS:
            return f"{count(seeds, 'seed')} tell no methods apart."
        half = float((pairs["difference_high"] - pairs["difference_low"]).median()) / 2
        level = 1 - ALPHA / 2 / len(pairs)
        error = half / t_quantile(level, 2 * then - 2) * sqrt(then / seeds)
        reach = sum(t_quantile(p, 2 * seeds - 2) for p in (level, POWER))
        return (
            f"{count(seeds, 'seed')} tell two methods apart that differ by {error * reach:.2g} of "
            f"score, with {100 * POWER:.0f} % probability (the median pair in {stored.folder})."
        )
    return ""
