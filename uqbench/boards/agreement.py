"""Whether a run that was made again is the run that is stored."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import numpy as np

from uqbench.boards.scores import Score, is_finite
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.quantiles import t_quantile

CLOSE = 1e-6
"""Relative difference of numbers that agree to the last places."""
LEVEL = 0.0025
"""Probability with which rows of honest runs, all together, are called inconsistent."""
WIDER = 2.0
"""Returns are skewed: of log-normal ones (σ = 0.6) Student's interval would refuse, by simulation,
a tenth of honest submissions from another processor, and twice as wide a one less than 1 %."""


class Agreement(enum.Enum):
    """What a repeated run says of a stored one.

    SAME_BITS: every number of its files is the same.
    LAST_PLACES: every metric is the same but for its last places: another processor.
    CONSISTENT: other numbers, as another seed might give: chaos after such last places.
    INCONSISTENT: other numbers than the repeated runs of this task and method allow for, or other
        numbers where processor, versions and code are the same.
    """

    SAME_BITS = "same bits"
    LAST_PLACES = "same to the last places"
    CONSISTENT = "other numbers, statistically consistent"
    INCONSISTENT = "statistically inconsistent"


EXACT = (Agreement.SAME_BITS, Agreement.LAST_PLACES)


def agreement(
    stored: Score,
    repeated: Score,
    others: Sequence[Score],
    measured: Sequence[str],
    among: int,
    same_machine: bool,
) -> Agreement:
    """Compare a run with its repetition.

    Args:
        stored: the row of the run.
        repeated: the row of its repetition.
        others: all repetitions of the run's task and method, this one included, and runs of it with
            new seeds: the tolerance is theirs, not the stored rows'.
        measured: names of the metrics of cost, which differ from run to run.
        among: how many runs are compared: all of them together err with :data:`LEVEL`.
        same_machine: whether processor, versions and code are the same; the numbers must be, then.
    """
    if stored.same_result(repeated, measured):
        return Agreement.SAME_BITS
    if stored.status != repeated.status:
        return Agreement.INCONSISTENT
    names = [name for name in stored.values if name not in measured]
    if all(_close(stored.values[name], repeated.values.get(name)) for name in names):
        return Agreement.LAST_PLACES
    usual = [score.score for score in others if is_finite(score.score)]
    score = stored.score
    if same_machine or not is_finite(score) or len(usual) < MINIMUM_SEEDS:
        return Agreement.INCONSISTENT
    n = len(usual)
    # Student's prediction interval of one more run, made wider
    reach = WIDER * t_quantile(1 - LEVEL / among / 2, n - 1) * float(np.std(usual, ddof=1))
    inside = abs(score - float(np.mean(usual))) <= reach * math.sqrt(1 + 1 / n)
    return Agreement.CONSISTENT if inside else Agreement.INCONSISTENT


def _close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=CLOSE, abs_tol=1e-12) or (
        math.isnan(first) and math.isnan(second)
    )
