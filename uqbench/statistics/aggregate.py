"""Aggregates with rliable's own percentile intervals, for comparison with papers: ``rliable.csv``.

Definitions and point estimates are rliable's (Agarwal et al. 2021, Deep RL at the Edge of the
Statistical Precipice). The intervals use the same estimator as rliable but compute the statistics
of a whole batch of resamples at once, and depend on nothing but the scores and the seed (and on
numpy, whose generators may change their streams between versions). They cover less than they say
with few runs (``docs/coverage.md``): boards show :mod:`uqbench.statistics.estimate`'s instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uqbench.statistics.estimate import Estimate
from uqbench.statistics.jackknife import MANY_SEEDS
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.statistic import iqm, mean, median, optimality_gap

BATCH_NUMBERS = 100_000
"""Numbers in one batch of resamples: bounds the memory, fits the cache, changes no result."""


def aggregate(
    scores: ArrayLike, *, seed: int, repetitions: int = 50_000, confidence: float = 0.95
) -> dict[str, Estimate]:
    """IQM, median, mean and optimality gap of normalized ``scores``, shape ``[runs, tasks]``.

    The keys are "iqm", "median", "mean" and "optimality_gap". A run is one training seed; the
    episodes of a run must be averaged before, as they are not independent runs. The intervals are
    None with fewer than ``MINIMUM_SEEDS`` runs, or more than ``MANY_SEEDS``.

    Raises ValueError for scores that are empty, not a matrix or not finite, and for fewer than
    one repetition or a confidence outside (0, 1).
    """
    from rliable import metrics  # takes a second

    matrix = _score_matrix("scores", scores)
    _check_interval(repetitions, confidence)
    values = {
        "iqm": float(metrics.aggregate_iqm(matrix)),
        "median": float(metrics.aggregate_median(matrix)),
        "mean": float(metrics.aggregate_mean(matrix)),
        "optimality_gap": float(metrics.aggregate_optimality_gap(matrix)),
    }
    if not MINIMUM_SEEDS <= len(matrix) <= MANY_SEEDS:
        return {name: Estimate(value, None, None) for name, value in values.items()}

    from uqbench.statistics.bootstrap import SeededStratifiedBootstrap  # takes a second

    bootstrap = SeededStratifiedBootstrap(matrix, np.random.default_rng(seed))
    statistics = {"iqm": iqm, "median": median, "mean": mean, "optimality_gap": optimality_gap}
    replicates: dict[str, list[NDArray[np.float64]]] = {name: [] for name in statistics}
    for batch in bootstrap.batches(repetitions, _batch_size(matrix.size)):
        for name, statistic in statistics.items():
            replicates[name].append(statistic(batch))
    return {
        name: _percentile_estimate(value, replicates[name], confidence)
        for name, value in values.items()
    }


def probability_of_improvement(
    x: ArrayLike, y: ArrayLike, *, seed: int, repetitions: int = 50_000, confidence: float = 0.95
) -> Estimate:
    """Probability that a run of X beats a run of Y on the same task, averaged over tasks.

    ``x`` is ``[runs_x, tasks]`` and ``y`` is ``[runs_y, tasks]``; a tie counts one half, as in the
    Mann-Whitney statistic. The interval is None if either has fewer than ``MINIMUM_SEEDS`` runs,
    or more than ``MANY_SEEDS``.

    Raises ValueError as :func:`aggregate` does, and for different numbers of tasks.
    """
    from rliable import metrics  # takes a second

    matrix_x, matrix_y = _score_matrix("x", x), _score_matrix("y", y)
    _check_interval(repetitions, confidence)
    if matrix_x.shape[1] != matrix_y.shape[1]:
        raise ValueError(
            f"x and y must have the same tasks: got shapes {matrix_x.shape} and {matrix_y.shape}, "
            "expected [runs_x, tasks] and [runs_y, tasks]"
        )
    value = float(metrics.probability_of_improvement(matrix_x, matrix_y))
    lengths = len(matrix_x), len(matrix_y)
    if min(lengths) < MINIMUM_SEEDS or max(lengths) > MANY_SEEDS:
        return Estimate(value, None, None)

    wins = win_matrix(matrix_x, matrix_y)
    from uqbench.statistics.bootstrap import SeededStratifiedBootstrap  # takes a second

    # X and Y have a stream each: from a shared one, the draws would depend on the batch size.
    stream_x, stream_y = np.random.default_rng(seed).spawn(2)
    size = _batch_size(matrix_x.size + matrix_y.size)
    draws_x = SeededStratifiedBootstrap(matrix_x, stream_x).draws(repetitions, size)
    draws_y = SeededStratifiedBootstrap(matrix_y, stream_y).draws(repetitions, size)
    replicates = [
        win_rate(wins, runs_x, runs_y) for runs_x, runs_y in zip(draws_x, draws_y, strict=True)
    ]
    return _percentile_estimate(value, replicates, confidence)


def win_matrix(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[tasks, runs_x, runs_y]``: 1 where the run of X beats that of Y, 1/2 where they tie."""
    of_x, of_y = x.T[:, :, None], y.T[:, None, :]
    return np.asarray((of_x > of_y) + 0.5 * (of_x == of_y))


def win_rate(
    wins: NDArray[np.float64], runs_x: NDArray[np.int64], runs_y: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probability of improvement of each resample, ``[R]``.

    ``wins`` is ``[tasks, runs_x, runs_y]``; ``runs_x`` ``[R, runs_x, tasks]`` and ``runs_y``
    ``[R, runs_y, tasks]`` are the numbers of the runs that were drawn.
    """
    # Counts times halves: the sums are exact, in whatever order they are taken.
    total = np.einsum(
        "rti,tij,rtj->r", _draw_counts(runs_x), wins, _draw_counts(runs_y), optimize=True
    )
    return np.asarray(total / wins.size)


def _draw_counts(runs: NDArray[np.int64]) -> NDArray[np.float64]:
    """How often each run was drawn: ``[R, runs, tasks]`` run numbers to ``[R, tasks, runs]``."""
    resamples, count, tasks = runs.shape
    strata = np.arange(resamples * tasks).reshape(resamples, 1, tasks)
    counts = np.bincount((strata * count + runs).ravel(), minlength=runs.size)
    return counts.reshape(resamples, tasks, count).astype(np.float64)


def _batch_size(numbers: int) -> int:
    return max(1, BATCH_NUMBERS // numbers)


def _percentile_estimate(
    value: float, replicates: list[NDArray[np.float64]], confidence: float
) -> Estimate:
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(np.concatenate(replicates), [tail, 1.0 - tail])
    return Estimate(value, float(low), float(high))


def _score_matrix(name: str, scores: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(
            f"{name} must be a non-empty [runs, tasks] matrix, got shape {matrix.shape}"
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        listed = ", ".join(f"{name}[{run}, {task}] = {matrix[run, task]}" for run, task in bad[:5])
        raise ValueError(f"{name} must be finite, got {len(bad)} that are not: {listed}")
    return matrix


def _check_interval(repetitions: int, confidence: float) -> None:
    if repetitions < 1:
        raise ValueError(f"repetitions must be at least 1, got {repetitions}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
