"""One word for a method's stated intervals: whether as many truths lie in them as they say.

A suite's metric named ``coverage_90`` or ``coverage_95``, or these with the prefix ``q_``, is the
share of true values inside the intervals that methods state, by run. The 95 % interval of its mean
over runs, the one that the board prints, and a band around the stated level that does not depend on
how many runs there are, decide the word (:func:`calibration`): more runs settle a word and hardly
ever turn it around. Coverages of anything else, as of differences of values or of the last part of
training, have none.

On one fixed world an exact posterior need not cover as often as it says. The words *honest*,
*overconfident* and *underconfident* are for where it must (:func:`must_cover`).
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np

from uqbench.boards.columns import columns
from uqbench.boards.matrices import MethodScores
from uqbench.statistics.estimate import Estimate
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite

JUDGED = ("honest", "underconfident", "overconfident")
HERE = ("as stated here", "too wide here", "too narrow here")
"""By the side of the band on which coverage lies: 0 inside, 1 above, −1 below."""
WORDS = (*JUDGED, *HERE, "undecided", "states none")
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


def side(low: float, high: float, level: float) -> int | None:
    """−1, 0 or 1 where an interval lies below, inside or above the band; None where it is open."""
    least, most = band(level)
    return -1 if high < least else 1 if low > most else 0 if least <= low <= high <= most else None


def calibration(share: Estimate | None, level: float, *, judged: bool) -> str:
    """The word for intervals of a level: by the side of the band on which the share lies.

    Args:
        share: of truths inside, with its interval; None where no intervals are stated.
        level: that the intervals state.
        judged: whether exact intervals must cover as often as they say.
    """
    if share is None:
        return "states none"
    if share.low is None or share.high is None:
        return "undecided"
    found = side(share.low, share.high, level)
    return "undecided" if found is None else (JUDGED if judged else HERE)[found]


def word(
    suite: Suite, own: MethodScores, estimates: Mapping[str, Estimate | None], of: tuple[str, float]
) -> str:
    """The word for a method's intervals of a level, by the coverage in a column of its board."""
    column, level = of
    metric = suite.metric(column.removesuffix("_mean"))
    return calibration(estimates[column], level, judged=must_cover(suite, metric, own))


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
    """The word as it would be said today; older boards have further ones, all of them undecided."""
    return word if word in WORDS else "undecided"


def with_share(word: str, share: float) -> str:
    """A word as tables show it: with the share of truths inside where it says little alone."""
    return f"{word} ({100 * share:.0f} %)" if word == HERE[-1] else word


def words_note(plan: Plan) -> str:
    """Which words a plan's runs can earn; empty where no coverage is measured."""
    if coverage_column(one.name for one in columns(plan)) is None:
        return ""
    drawn = all(cell.task.worlds == "drawn" for cell in plan.cells)
    words = ", ".join(JUDGED if drawn else (*HERE, *JUDGED * is_of_policy(plan)))
    return f"The word for stated intervals can be {words} or undecided."


def is_of_policy(plan: Plan) -> bool:
    """Whether the coverage that decides the word is of the values of agents' own policies."""
    found = coverage_column(one.name for one in columns(plan))
    return found is not None and plan.suite.metric(found[0].removesuffix("_mean")).kind == "queries"
