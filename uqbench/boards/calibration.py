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
from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from uqbench.boards.matrices import MethodScores
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


def percent(share: float, *edges: float) -> str:
    """A share in percent, with decimals where rounded it would lie on an edge, or beyond it."""
    texts = [f"{100 * share:.{digits}f}" for digits in range(7)]
    sides = [np.sign(share - edge) for edge in edges]
    same = (text for text in texts if [np.sign(float(text) / 100 - of) for of in edges] == sides)
    return next(same, texts[-1])


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
    own = leaderboard.loc[leaderboard["role"] == "method", names].itertuples(index=False)
    return {
        str(name): word(low, high, level) if share == share else NO_WORD
        for name, share, low, high in own
    }


def with_words(leaderboard: pd.DataFrame) -> pd.DataFrame:
    """The leaderboard with the words of its methods, empty ones of baselines, if it has any."""
    said = words(leaderboard)
    own = leaderboard["method"].map(said).fillna("") if said else None
    return leaderboard if own is None else leaderboard.assign(calibration=own)


def worth(
    suite: Suite, column: str, methods: Mapping[str, MethodScores], tasks: pd.DataFrame
) -> str:
    """A sentence on the worth of a board's words.

    Args:
        suite: of the board.
        column: that decides the words.
        methods: the scores of its methods.
        tasks: its ``tasks.csv``.
    """
    metric = suite.metric(column.removesuffix("_mean"))
    stating = {name: own for name, own in methods.items() if own.raw(metric) is not None}
    if all(suite.task(name).worlds == "drawn" for own in stating.values() for name in own.tasks):
        data = metric.kind in ("dataset", "predictions")
        fresh = "Test data are fresh" if data else "Worlds are drawn from the prior"
        return f"{fresh}, so exact intervals would cover what they say."
    if metric.kind != "queries":
        return "Worlds are fixed: even exact intervals may cover more or less than they say."
    if exact_enough(tasks, stating):
        return "Noise of reference values, below methods' errors, widens all intervals alike."
    return "Part of what intervals miss may be noise of the reference values."


def exact_enough(tasks: pd.DataFrame, methods: Collection[str]) -> bool:
    """Whether the truth about these methods' own policies is more exact than what they state.

    Where on every task its standard error is below the agent's root mean squared error, both means
    over runs: else coverage is that of the truth's noise.

    Args:
        tasks: ``tasks.csv`` of their board.
        methods: those that state intervals.
    """
    if not {"truth_error", "q_error"} <= {*tasks}:
        return False
    own = tasks[tasks["method"].isin(methods)]
    return bool((own["truth_error"] < own["q_error"]).all())
