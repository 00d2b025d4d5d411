"""Statistics of normalized scores, by name: what boards show and rank by, over runs and tasks.

Each is a function of whole batches of resamples, ``[R, runs, tasks]`` to ``[R]``. Point estimates
of the interquartile mean, mean, median and optimality gap are rliable's own functions; the tests
hold the batched ones to them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

TAIL = 0.25
"""Of the runs, the share whose mean is ``worst_quarter``."""

Batched = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def batched(name: str) -> Batched:
    """The statistic of that name: those of this module, or ``quantile(q)``.

    Raises:
        ValueError: there is none.
    """
    if name.startswith("quantile("):
        return partial(quantile, level=float(name[len("quantile(") : -1]))
    if name not in _BATCHED:
        raise ValueError(f"no statistic {name!r}; known: {', '.join(_BATCHED)}, quantile(q)")
    return _BATCHED[name]


def point(name: str, scores: NDArray[np.float64]) -> float:
    """The statistic of one matrix ``[runs, tasks]``, by rliable's function where it has one."""
    from rliable import metrics  # takes a second; suites are checked without it

    own = getattr(metrics, f"aggregate_{name}", None)
    return float(batched(name)(scores[None])[0] if own is None else own(scores))


def iqm(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interquartile mean over runs and tasks: ``[R, runs, tasks]`` to ``[R]``.

    A quarter of the numbers, rounded down, is cut from either end, as ``scipy.stats.trim_mean``.
    """
    ordered = np.sort(resamples.reshape(len(resamples), -1), axis=1)
    count = ordered.shape[1]
    cut = count // 4
    return np.asarray(ordered[:, cut : count - cut].mean(axis=1))


def median(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median over tasks of the mean over runs: ``[R, runs, tasks]`` to ``[R]``."""
    return np.asarray(np.median(resamples.mean(axis=1), axis=1))


def mean(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over runs and tasks: ``[R, runs, tasks]`` to ``[R]``."""
    return np.asarray(resamples.mean(axis=(1, 2)))


def optimality_gap(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean shortfall below a score of 1, the reference: ``[R, runs, tasks]`` to ``[R]``."""
    return np.asarray(1.0 - np.minimum(resamples, 1.0).mean(axis=(1, 2)))


def worst_quarter(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
    """CVaR 0.25 over the runs of a task, averaged over tasks: ``[R, runs, tasks]`` to ``[R]``.

    The mean of the worst quarter of the runs' mass: of five runs the worst counts fully, and a
    quarter of the second.
    """
    ordered = np.sort(resamples, axis=1)
    mass = TAIL * ordered.shape[1]
    weights = np.clip(mass - np.arange(ordered.shape[1]), 0.0, 1.0) / mass
    return np.asarray(np.einsum("rnt,n->r", ordered, weights) / ordered.shape[2])


def quantile(resamples: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """The quantile of all runs of all tasks: ``[R, runs, tasks]`` to ``[R]``."""
    return np.asarray(np.quantile(resamples.reshape(len(resamples), -1), level, axis=1))


_BATCHED: dict[str, Batched] = {
    "iqm": iqm,
    "mean": mean,
    "median": median,
    "optimality_gap": optimality_gap,
    "worst_quarter": worst_quarter,
}
