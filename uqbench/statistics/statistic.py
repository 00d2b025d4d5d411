"""Statistics of normalized scores, by name: what boards show and rank by, over runs and tasks.

Interquartile mean, median and optimality gap are rliable's, bit for bit (Agarwal et al. 2021, Deep
RL at the Edge of the Statistical Precipice).
"""

from collections.abc import Callable
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

TAIL = 0.25
"""Of the runs, the share whose mean is ``worst_quarter``."""


def point(name: str, scores: NDArray[np.float64]) -> float:
    """The statistic of one matrix ``[runs, tasks]``.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in STATISTICS:
        raise ValueError(f"no statistic {name!r}; known: {', '.join(STATISTICS)}")
    return float(STATISTICS[name](scores))


def contributions(name: str, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """What each run adds to a statistic, ``[runs, tasks]``: its mean has the statistic's variance.

    For the mean these are the scores; for the IQM the scores cut off at its quartiles, twice (the
    influence function of a trimmed mean: Tukey & McLaughlin 1963); for the median over tasks, the
    scores of the tasks in the middle. None for the others, whose error so few runs do not tell.
    """
    if name == "iqm":
        ordered = np.sort(scores, axis=None)
        cut = len(ordered) // 4
        return 2.0 * np.clip(scores, ordered[cut], ordered[-1 - cut])
    if name == "median":
        order, tasks = np.argsort(scores.mean(axis=0), kind="stable"), scores.shape[1]
        return scores[:, order[(tasks - 1) // 2 : tasks // 2 + 1]]
    return scores if name == "mean" else None


def _iqm(scores: NDArray[np.float64]) -> float:
    """The mean of the middle half of all runs."""
    cut = scores.size // 4
    ordered = np.partition(scores, (cut, scores.size - cut - 1), axis=None)
    return float(ordered[cut : scores.size - cut].mean())


def _worst_quarter(scores: NDArray[np.float64]) -> float:
    """CVaR 0.25 over the runs of a task, averaged over tasks.

    The mean of the worst quarter of the runs' mass: of five runs the worst counts fully, and a
    quarter of the second.
    """
    mass = TAIL * len(scores)
    weights = np.clip(mass - np.arange(len(scores)), 0.0, 1.0) / mass
    return float((weights @ np.sort(scores, axis=0)).mean())


STATISTICS: dict[str, Callable[[NDArray[np.float64]], SupportsFloat]] = {
    "iqm": _iqm,
    "mean": lambda scores: scores.mean(axis=0).mean(),
    "median": lambda scores: np.median(scores.mean(axis=0)),
    "optimality_gap": lambda scores: 1 - np.minimum(scores, 1).mean(),
    "worst_quarter": _worst_quarter,
}
