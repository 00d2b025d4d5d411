"""Whether a run that was made again is the run that is stored."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np

from uqbench.boards.scores import Score, is_finite
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.quantiles import t_quantile

CLOSE = 1e-6
"""Relative difference of numbers that agree to the last places."""


class Agreement(enum.Enum):
    """What a repeated run says of a stored one.

    SAME_BITS: every number of its files is the same.
    LAST_PLACES: every metric is the same but for its last places: another processor.
    CONSISTENT: other numbers, as another seed might give: chaos after such last places.
    INCONSISTENT: other numbers than the stored runs of this task and method allow for.
    """

    SAME_BITS = "same bits"
    LAST_PLACES = "same to the last places"
    CONSISTENT = "other numbers, statistically consistent"
    INCONSISTENT = "statistically inconsistent"


def agreement(
    stored: Score, repeated: Score, others: Sequence[Score], measured: Sequence[str], among: int
) -> Agreement:
    """Compare a run with its repetition.

    Args:
        stored: the row of the run.
        repeated: the row of its repetition.
        others: all stored rows of the run's task and method, the run's own included.
        measured: names of the metrics of cost, which differ from run to run.
        among: how many runs are compared: all of them together err with 5 %.
    """
    if stored.same_result(repeated, measured):
        return Agreement.SAME_BITS
    if stored.status != repeated.status:
        return Agreement.INCONSISTENT
    names = [name for name in stored.values if name not in measured]
    if all(_close(stored.values[name], repeated.values.get(name)) for name in names):
        return Agreement.LAST_PLACES
    usual = [score.score for score in others if is_finite(score.score)]
    score = repeated.score
    if not is_finite(score) or len(usual) < MINIMUM_SEEDS:
        return Agreement.INCONSISTENT
    n = len(usual)
    # Student's prediction interval of one more run
    reach = t_quantile(1 - ALPHA / among / 2, n - 1) * float(np.std(usual, ddof=1))
    inside = abs(score - float(np.mean(usual))) <= reach * math.sqrt(1 + 1 / n)
    return Agreement.CONSISTENT if inside else Agreement.INCONSISTENT


def _close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=CLOSE, abs_tol=1e-12) or (
        math.isnan(first) and math.isnan(second)
    )
