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
from numpy.typing import NDArray

from uqbench.boards.columns import columns
from uqbench.boards.matrices import MethodScores
from uqbench.contract.wording import listed
from uqbench.statistics.levels import ALPHA, seeds_for_a_word
from uqbench.statistics.location import Value, location
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite

JUDGED = ("overconfident", "honest", "underconfident")
HERE = ("too narrow here", "as stated here", "too wide here")
WORDS = (
    "honest", "overconfident", "underconfident", "as stated here", "too narrow here",
    "too wide here", "mixed", "undecided", "states none",
)  # fmt: skip
"""Of too few seeds it says how many are needed; what it says of mixed ones begins with the word."""
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
    covered: NDArray[np.float64] | None,
    level: float,
    tasks: Sequence[str],
    *,
    judged: bool,
    clustered: bool = False,
) -> str:
    """The word for intervals of a level.

    By whether the 95 % interval of the mean lies below, inside or above the band, else *undecided*.
    *Mixed* where a task contradicts another, or the mean inside the band: by each task's own
    interval, at a level at which all tasks' together hold with 95 %.

    Args:
        covered: share of truths inside, ``[runs, tasks]``; None where no intervals are stated.
        level: that the intervals state.
        tasks: their names.
        judged: whether exact intervals must cover as often as they say.
        clustered: whether the tasks of a seed share something, such as a data set.
    """
    if covered is None:
        return "states none"
    if len(covered) < (needed := seeds_for_a_word(len(tasks))):
        return f"needs {needed} seeds"
    side = _side(covered, level, ALPHA, clustered)
    alone = [_side(covered[:, [k]], level, ALPHA / len(tasks)) for k in range(len(tasks))]
    apart = {
        how: listed(own)
        for how, which in (("too wide", 1), ("too narrow", -1))
        if (own := [task for task, one in zip(tasks, alone, strict=True) if one == which])
    }
    if len(apart) > (0 if side == 0 else 1):
        return "mixed: " + ", ".join(f"{how} on {on}" for how, on in apart.items())
    return "undecided" if side is None else (JUDGED if judged else HERE)[1 + side]


def _side(
    covered: NDArray[np.float64], level: float, alpha: float, clustered: bool = False
) -> int | None:
    """−1, 0 or 1 where the mean lies below, inside or above the band; None where that is open.

    Runs that all cover the same are that number: what is left open is too little to be seen.
    """
    of = Value(location(covered, "mean", clustered=clustered))
    low, high = of.interval(alpha) or (of.estimate, of.estimate)
    least, most = band(level)
    if high < least or low > most:
        return -1 if high < least else 1
    return 0 if least <= low and high <= most else None


def must_cover(suite: Suite, metric: Metric, own: MethodScores) -> bool:
    """Whether exact intervals of a method cover as often as they say, whatever it states.

    Where every task's worlds are drawn from the prior. Where the truth is about the agent's own
    policy, too, if on every task its standard error is below the agent's root mean squared error
    (with that noise taken off): else coverage is that of the truth's noise.
    """
    if all(suite.task(name).worlds == "drawn" for name in own.tasks):
        return True
    if metric.kind != "queries":
        return False
    known = {one.statistic: own.raw(one) for one in suite.metrics if one.kind == "queries"}
    error, noise = known.get("queries/q_error"), known.get(TRUTH_ERROR)
    if error is None or noise is None:
        return False
    return bool((np.square(noise).mean(axis=0) < np.square(error).mean(axis=0)).all())


def kind(word: str) -> str:
    """The one of :data:`WORDS` that a board's word is; of too few seeds it is *undecided*."""
    return next((one for one in WORDS if one == word.partition(":")[0]), "undecided")


def ordered(words: Iterable[str]) -> list[str]:
    """Words once each, in the order of :data:`WORDS`."""
    return sorted({*words}, key=lambda word: (WORDS.index(kind(word)), word))


def with_share(word: str, share: float) -> str:
    """A word as tables show it: with the share of truths inside where it says little alone."""
    percent = f"{100 * share:.0f} %"
    if word.startswith("needs"):
        return f"{percent}, {word}"
    return f"{word} ({percent})" if word == HERE[0] else word.partition(":")[0]


def words_note(plan: Plan) -> str:
    """Which words a plan's runs can earn; empty where no coverage is measured."""
    column = coverage_column(one.name for one in columns(plan))
    if column is None:
        return ""
    about = f"for stated {100 * column[1]:.0f} % intervals"
    seeds, tasks = (len({*of}) for of in zip(*((r.seed, r.task) for r in plan.runs), strict=True))
    if seeds < (needed := seeds_for_a_word(tasks)):
        return f"No word {about}: it needs {needed} seeds, these are {seeds}."
    drawn = all(cell.task.worlds == "drawn" for cell in plan.cells)
    words = JUDGED if drawn else HERE
    own = plan.suite.metric(column[0].removesuffix("_mean")).kind == "queries" and not drawn
    further = f", or {listed(JUDGED, 'or')} where the truth is known well enough" * own
    return f"Words {about} that these runs can earn: {listed(words, 'or')}{further}."
