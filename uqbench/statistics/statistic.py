"""Statistics of normalized scores, by name: what boards show and rank by, over runs and tasks.

Point estimates of the interquartile mean, median and optimality gap are rliable's to the bit
(Agarwal et al. 2021, Deep RL at the Edge of the Statistical Precipice), which itself would bring
arch, statsmodels and seaborn.
"""

import numpy as np
from numpy.typing import NDArray

TAIL = 0.25
"""The share of a task's runs whose mean, over tasks, is ``worst_quarter`` (CVaR 0.25)."""


def point(name: str, scores: NDArray[np.float64]) -> float:
    """The statistic of one matrix ``[runs, tasks]``.

    Raises:
        ValueError: there is none of that name.
    """
    if name == "mean":
        return float(scores.mean(axis=0).mean())
    if name == "worst_quarter":
        # of five runs the worst counts fully, and a quarter of the second
        mass = TAIL * len(scores)
        weights = np.clip(mass - np.arange(len(scores)), 0.0, 1.0) / mass
        return float((weights @ np.sort(scores, axis=0)).mean())
    if name == "iqm":
        cut = scores.size // 4
        ordered = np.partition(scores, (cut, scores.size - cut - 1), axis=None)
        return float(ordered[cut : scores.size - cut].mean())
    if name == "median":
        return float(np.median(scores.mean(axis=0)))
    if name == "optimality_gap":
        return float(1 - np.minimum(scores, 1).mean())
    raise ValueError(
        f"no statistic {name!r}; known: iqm, mean, median, optimality_gap, worst_quarter"
    )


def contributions(name: str, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Contributions of runs to a statistic, ``[runs, tasks]``; their mean has its variance.

    For the mean these are the scores; for the IQM the scores cut off at its quartiles, twice (the
    influence function of a trimmed mean: Tukey & McLaughlin 1963); for the median over tasks, the
    scores of the tasks in the middle, of the others zero; for the optimality gap what is missing to
    1. None for the others, whose error so few runs do not tell.
    """
    if name == "optimality_gap":
        return 1.0 - np.minimum(scores, 1.0)
    if name == "iqm":
        ordered = np.sort(scores, axis=None)
        cut = len(ordered) // 4
        return 2.0 * np.clip(scores, ordered[cut], ordered[-1 - cut])
    if name == "median":
        order, tasks = np.argsort(scores.mean(axis=0), kind="stable"), scores.shape[1]
        middle = np.isin(np.arange(tasks), order[(tasks - 1) // 2 : tasks // 2 + 1])
        return np.where(middle, scores * tasks / middle.sum(), 0.0)
    return scores if name == "mean" else None


def kept(name: str, scores: NDArray[np.float64]) -> float:
    """The share of runs that a statistic has not cut off."""
    return 1.0 - 2 * (scores.size // 4) / scores.size if name == "iqm" else 1.0
