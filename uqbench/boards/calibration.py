"""One word for a method's stated intervals: whether as many truths lie in them as they say.

A suite's metric named ``coverage_90`` or ``coverage_95``, or these with the prefix ``q_``, is the
share of true values inside the intervals that methods state, by run. Its mean over runs and its
95 % interval decide the word (:func:`calibration`). Coverages of anything else, as of differences
of values or of the last part of training, do not.
"""

import re
from collections.abc import Iterable
from typing import Literal, get_args

from uqbench.statistics.estimate import Estimate

Calibration = Literal["honest", "overconfident", "underconfident", "undecided", "states none"]
WORDS: tuple[Calibration, ...] = get_args(Calibration)
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


def calibration(coverage: Estimate | None, level: float) -> Calibration:
    """What a coverage says of intervals of a level.

    *Honest*: its interval lies inside the band, an equivalence test. Otherwise *overconfident* if
    it lies below the level, *underconfident* if above, and *undecided* if it contains the level or
    there are too few runs for an interval.
    """
    if coverage is None:
        return "states none"
    low, high = coverage.low, coverage.high
    if low is None or high is None:
        return "undecided"
    least, most = band(level)
    if least <= low and high <= most:
        return "honest"
    if high < level:
        return "overconfident"
    return "underconfident" if low > level else "undecided"
