"""One word for a method's stated intervals: whether as many truths lie in them as they say.

A suite's metric named ``coverage_90`` or ``coverage_95``, or these with the prefix ``q_``, is the
share of true values inside the intervals that methods state, by run. The 95 % interval of its mean
over runs, and a band around the stated level that does not depend on how many runs there are,
decide the word (:func:`calibration`): more runs settle a word and never turn it around. Coverages
of anything else, as of differences of values or of the last part of training, have none.

On one fixed world an exact posterior need not cover as often as it says. The words *honest*,
*overconfident* and *underconfident* are for where it must (:func:`must_cover`).
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from uqbench.boards.columns import columns
from uqbench.boards.matrices import Matrix, MethodScores
from uqbench.statistics.levels import ALPHA, seeds_for_a_word
from uqbench.statistics.location import Value, location
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite

JUDGED = ("honest", "underconfident", "overconfident")
HERE = ("as stated here", "too wide here", "too narrow here")
"""By the side of the band on which coverage lies: 0 inside, 1 above, −1 below."""
WORDS = (*JUDGED, *HERE, "mixed", "undecided", "too few seeds", "states none")
"""Kinds of words. Of too few seeds a board says how many are needed, of mixed ones which tasks."""
_COVERAGE = re.compile(r"(?:q_)?coverage_(90|95)_mean")


def coverage_column(columns: Iterable[str]) -> tuple[str, float] | None:
    """The column of a leaderboard that decides the word, and the level that intervals state.

    The first of 90 % intervals; without any the first of 95 %. None where there is neither.
    """
    levels = [(name, match[1]) for name in columns if (match := _COVERAGE.fullmatch(name))]
    name, level = min(levels, key=lambda one: one[1], default=("", ""))
    return (name, int(level) / 100) if name else None


def band(level: float) -> tuple[float, float]:
    """Coverages that honest intervals of a level may have: misses are off by half at most."""
    slack = (1 - level) / 2
    return level - slack, level + slack


def calibration(
    covered: Matrix | None, level: float, tasks: Sequence[str], *, judged: bool, paired: bool
) -> str:
    """The word for intervals of a level.

    By whether the 95 % interval of the mean lies inside or above the band, or its upper 95 % bound
    below; else *undecided*.
    *Mixed* where a task contradicts another, or the mean inside the band: by each task's own
    interval, at a level at which all tasks' together hold with 95 %.

    Args:
        covered: share of truths inside, ``[runs, tasks]``; None where no intervals are stated.
        level: that the intervals state.
        tasks: their names.
        judged: whether exact intervals must cover as often as they say.
        paired: whether the tasks of a seed share something, such as a data set.
    """
    if covered is None:
        return "states none"
    if len(covered) < (needed := seeds_for_a_word(len(tasks))):
        return f"needs {needed} seeds"
    side = _side(covered, level, ALPHA, paired)
    alone = [_side(covered[:, [k]], level, ALPHA / len(tasks)) for k in range(len(tasks))]
    apart = {
        how: ", ".join(on)
        for how, which in (("too wide", 1), ("too narrow", -1))
        if (on := [task for task, one in zip(tasks, alone, strict=True) if one == which])
    }
    if len(apart) + (side == 0) > 1:
        return "mixed: " + "; ".join(f"{how} on {on}" for how, on in apart.items())
    return "undecided" if side is None else (JUDGED if judged else HERE)[side]


def _side(covered: Matrix, level: float, alpha: float, paired: bool = False) -> int | None:
    """−1, 0 or 1 where the mean lies below, inside or above the band; None where that is open.

    Below by an upper end that errs in ``alpha``, not half of it: coverage is skewed to the left, so
    that these ends miss less often than is stated (``benchmarks/words.py``). Runs that all cover
    the same are that number: what is left open is too little to be seen.
    """
    of = Value(location(covered, "mean", clustered=paired))
    low, high = of.interval(alpha) or (of.estimate, of.estimate)
    least, most = band(level)
    _, upper = of.interval(2 * alpha) or (low, high)
    return -1 if upper < least else 1 if low > most else 0 if least <= low <= high <= most else None


def word(suite: Suite, own: MethodScores, column: str, level: float) -> str:
    """The word for a method's intervals of a level, by the coverage in a column of its board."""
    metric = suite.metric(column.removesuffix("_mean"))
    tasks = [name for name in own.tasks if metric.suits(suite.task(name))]
    judged = must_cover(suite, metric, own)
    return calibration(own.raw(metric), level, tasks, judged=judged, paired=suite.paired)


def must_cover(suite: Suite, metric: Metric, own: MethodScores) -> bool:
    """Whether exact intervals of a method cover as often as they say, whatever it states.

    Where every task's worlds are drawn from the prior. Where the truth is about the agent's own
    policy, too, if on every task its standard error is below the agent's root mean squared error
    (with that noise taken off): else coverage is that of the truth's noise.
    """
    if all(suite.task(name).worlds == "drawn" for name in own.tasks):
        return True
    known = {one.statistic: own.raw(one) for one in suite.metrics if one.kind == metric.kind}
    both = [known.get(name) for name in (TRUTH_ERROR, "queries/q_error")]
    noise, error = (None if of is None else np.square(of).mean(axis=0) for of in both)
    return noise is not None and error is not None and bool((noise < error).all())


def kind(word: str) -> str:
    """The one of :data:`WORDS` that a board's word is."""
    return "too few seeds" if word.startswith("needs") else word.partition(":")[0]


def with_share(word: str, share: float) -> str:
    """A word as tables show it: with the share of truths inside where it says little alone."""
    percent = f"{100 * share:.0f} %"
    shown = f"{word} ({percent})" if word == HERE[-1] else word.partition(":")[0]
    return f"{percent}, {word}" if word.startswith("needs") else shown


def words_note(plan: Plan) -> str:
    """Which words a plan's runs can earn; empty where no coverage is measured."""
    if coverage_column(one.name for one in columns(plan)) is None:
        return ""
    seeds, tasks = len({run.seed for run in plan.runs}), len({run.task for run in plan.runs})
    if seeds < (needed := seeds_for_a_word(tasks)):
        return f"Stated intervals have a word from {needed} seeds on; these are {seeds}."
    drawn = all(cell.task.worlds == "drawn" for cell in plan.cells)
    words = ", ".join(JUDGED if drawn else (*HERE, *JUDGED * is_of_policy(plan)))
    return f"The word for stated intervals can be {words}, mixed or undecided."


def is_of_policy(plan: Plan) -> bool:
    """Whether the coverage that decides the word is of the values of agents' own policies."""
    found = coverage_column(one.name for one in columns(plan))
    return found is not None and plan.suite.metric(found[0].removesuffix("_mean")).kind == "queries"
