"""Which difference so many seeds show, by the variances of a stored board."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from uqbench.boards.standings import ranges_by_task
from uqbench.boards.stored import StoredBoard, board_folder
from uqbench.contract.errors import UqbenchError
from uqbench.contract.wording import count
from uqbench.results.folders import Folder
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS, POWER
from uqbench.statistics.ranks import measure
from uqbench.suites.plan import Plan


def detectable_note(plan: Plan, roots: Iterable[Folder]) -> str:
    """The difference of scores that the median pair of methods shows, in a sentence.

    Args:
        plan: the runs that are to be made.
        roots: folders of leaderboards; the first that has the budget's board counts.
    """
    for root in roots:
        stored = StoredBoard(board_folder(replace(plan, standard=True), root))
        if not stored.has("scores.csv") or not plan.budget.ranks:
            continue
        try:
            scores, roles = stored.scores, stored.leaderboard.set_index("method")["role"]
        except UqbenchError:  # a damaged board is no reason not to say what would run
            continue
        tables = {
            str(name): own.pivot(index="seed", columns="task", values="score")
            for name, own in scores.groupby("method")
            if roles.get(name) == "method"
        }
        known = {name: of.to_numpy(np.float64) for name, of in tables.items()}
        complete = {name: of for name, of in known.items() if np.isfinite(of).all()}
        if len(complete) < 2 or min(map(len, complete.values())) < MINIMUM_SEEDS:
            continue
        suite, seeds = plan.suite, max(len(cell.runs) for cell in plan.cells)
        ranges = ranges_by_task(
            suite, suite.primary_metric(plan.budget), [str(t) for t in next(iter(tables.values()))]
        )
        pairs = measure(complete, suite.ranks_by, ranges, seedwise=suite.paired).values()
        if seeds < MINIMUM_SEEDS:
            return f"{count(seeds, 'seed')} tell no methods apart."
        differences = []
        for of in pairs:
            ends = [of.interval(a, seeds) for a in (ALPHA / len(pairs), 2 * (1 - POWER))]
            differences.append(sum((end[1] - end[0]) / 2 for end in ends if end is not None))
        return (
            f"{count(seeds, 'seed')} tell two of {len(complete)} methods apart that differ by "
            f"{np.median(differences):.2g} of score, with {100 * POWER:.0f} % probability (the "
            f"median pair, by the variances in {stored.folder})."
        )
    return ""
