"""One word for a method's stated intervals: whether as many truths lie in them as they say.

A suite's metric named ``coverage_90`` or ``coverage_95``, or these with the prefix ``q_``, is the
share of true values inside the intervals that methods state, by run. The 95 % interval of its mean
over runs, the one that the board prints, and a band around the stated level that does not depend on
how many runs there are, decide the word (:func:`word`): more runs settle a word and hardly ever
turn it around. Coverages of anything else, as of differences of values or of the last part of
training, have none.

On one fixed world an exact posterior need not cover as often as it says: what the words of a board
are worth is said once, below its table (:func:`worth`).
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from uqbench.boards.matrices import MethodScores
from uqbench.suites.metrics import TRUTH_ERROR, Metric
from uqbench.suites.suite import Suite

WORDS = CALIBRATED, NARROW, WIDE, OPEN = "calibrated", "too narrow", "too wide", "open"
NO_WORD = "–"
"""The word of a method that states no intervals."""
_COVERAGE = re.compile(r"(?:q_)?coverage_(90|95)_mean")


def coverage_column(columns: Iterable[str]) -> tuple[str, float] | None:
    """The column of a leaderboard that decides the word, and the level that intervals state.

    The first of 90 % intervals; without any the first of 95 %. None where there is neither.
    """
    levels = [(name, match[1]) for name in columns if (match := _COVERAGE.fullmatch(name))]
    name, level = min(levels, key=lambda one: one[1], default=("", ""))
    return (name, int(level) / 100) if name else None


def band(level: float) -> tuple[float, float]:
    """Coverages that calibrated intervals may have: misses are off by half at most."""
    slack = (1 - level) / 2
    return round(level - slack, 4), round(level + slack, 4)  # 0.85, not a bit more


def word(low: float, high: float, level: float) -> str:
    """The word for intervals of a level: by the side of the band on which the share lies.

    Args:
        low: the lower end of the printed interval of the share of truths inside; NaN without any.
        high: the upper end.
        level: that the intervals state.
    """
    least, most = band(level)
    if high < least:
        return NARROW
    return WIDE if low > most else CALIBRATED if least <= low <= high <= most else OPEN


def words(leaderboard: pd.DataFrame) -> dict[str, str]:
    """The word for the intervals of each method, by name; none of a board that asks for none.

    Words are those of the intervals in the frame, whatever an older file calls them.
    """
    column, level = coverage_column(map(str, leaderboard)) or ("", 0.0)
    if not column:
        return {}
    names = ["method", column, f"{column}_low", f"{column}_high"]
    return {
        str(name): word(low, high, level) if share == share else NO_WORD
        for name, share, low, high in leaderboard.loc[
            leaderboard["role"] == "method", names
        ].itertuples(index=False)
    }


def with_words(leaderboard: pd.DataFrame) -> pd.DataFrame:
    """The leaderboard with the words of its methods, empty ones of baselines, if it has any."""
    said = words(leaderboard)
    return (
        leaderboard.assign(calibration=leaderboard["method"].map(said).fillna(""))
        if said
        else leaderboard
    )


def worth(suite: Suite, column: str, methods: Mapping[str, MethodScores]) -> str:
    """A sentence on the worth of a board's words.

    Args:
        suite: of the board.
        column: that decides the words.
        methods: the scores of its methods.
    """
    metric = suite.metric(column.removesuffix("_mean"))
    stating = [own for own in methods.values() if own.raw(metric) is not None]
    if all(suite.task(name).worlds == "drawn" for own in stating for name in own.tasks):
        return "Worlds are drawn from the prior, where exact intervals hold what they state."
    if metric.kind != "queries":
        return "In these fixed worlds even exact intervals need not hold what they state."
    if all(exact_enough(suite, metric, own) for own in stating):
        return "Reference values are more exact than the methods', so exact intervals would cover."
    return (
        "Reference values are not known to be more exact than the methods' own, so the share also "
        "shows their noise."
    )


def exact_enough(suite: Suite, metric: Metric, own: MethodScores) -> bool:
    """Whether the truth about a method's own policy is more exact than what it states.

    Where on every task its standard error is below the agent's root mean squared error (with that
    noise taken off): else coverage is that of the truth's noise.
    """
    known = {one.statistic: own.raw(one) for one in suite.metrics if one.kind == metric.kind}
    both = [known.get(name) for name in (TRUTH_ERROR, "queries/q_error")]
    noise, error = (None if of is None else np.square(of).mean(axis=0) for of in both)
    return noise is not None and error is not None and bool((noise < error).all())
