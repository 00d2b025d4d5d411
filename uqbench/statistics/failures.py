"""Runs that may fail in another way than the rest: the share that fails, and a bounded mean.

A rare failure that no run has shown yet moves a mean, and the variance of the others tells nothing
of it. With p the share of runs that fail and m the mean of those that do not, the mean of all is

    (1 − p) m + p f,   f between the worst possible value and the one beyond which a run has failed.

Its interval holds all such numbers, with p in Clopper & Pearson's interval and m and f in Student's
or Hall's, each with a third of the error; of fewer than three runs of a kind, in all of its range.
So it is right however rare failures are, and as wide as the metric's range makes it. Over several
tasks it is the mean of the tasks' intervals, which share the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import Value, location
from uqbench.statistics.share import Share

LEVELS = tuple(ALPHA * 10 ** (-k / 8) for k in range(-10, 64))
"""That p-values are rounded up to: from 0.89 down."""


@dataclass(frozen=True)
class Failures:
    """That single runs of a metric may fail.

    Attributes:
        beyond: a run whose value is worse than this one has failed.
        worst: the worst value that a run can have.
        best: the best one.
    """

    beyond: float
    worst: float
    best: float

    def failed(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which runs have failed."""
        return values < self.beyond if self.worst < self.best else values > self.beyond


@dataclass(frozen=True)
class FailingMean:
    """The mean over runs and tasks of a metric whose runs may fail.

    See :class:`uqbench.claim.Measurement`.

    Attributes:
        tasks: the values of each task.
        failures: on each task, in the same units.
    """

    tasks: tuple[tuple[float, ...], ...]
    failures: tuple[Failures, ...]

    @classmethod
    def of(cls, values: NDArray[np.float64], failures: Sequence[Failures]) -> FailingMean:
        """Of ``values``, ``[runs, tasks]``.

        Raises:
            ValueError: a value lies outside the range.
        """
        for own, task in zip(values.T, failures, strict=True):
            low, high = sorted((task.worst, task.best))
            slack = 1e-9 * (high - low)
            if own.min() < low - slack or own.max() > high + slack:
                raise ValueError(
                    f"values from {own.min():g} to {own.max():g} lie outside the range "
                    f"[{low:g}, {high:g}]"
                )
        return cls(tuple(map(tuple, values.T.tolist())), tuple(failures))

    @property
    def estimate(self) -> float:
        """The mean."""
        return float(np.mean(self.tasks))

    @property
    def runs(self) -> int:
        """Runs of all tasks."""
        return sum(map(len, self.tasks))

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """Every mean that the share of failures and the mean of the others allow."""
        share = alpha / len(self.tasks)
        ends = [
            _interval(own, failures, share, seeds)
            for own, failures in zip(self.tasks, self.failures, strict=True)
        ]
        low, high = np.mean(ends, axis=0).tolist()
        return low, high


@dataclass(frozen=True)
class Apart:
    """Two means with half of the error each: their difference, or their ratio.

    See :class:`uqbench.claim.Measurement`. The runs may share their seeds' worlds.
    """

    first: FailingMean
    second: FailingMean
    ratio: bool = False

    @property
    def estimate(self) -> float:
        """The difference, or the ratio; not a number over zero."""
        first, second = self.first.estimate, self.second.estimate
        if not self.ratio:
            return first - second
        return first / second if second else math.nan

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """That of means in both intervals; all numbers, where a denominator may be zero."""
        low, high = self.first.interval(alpha / 2, seeds)
        least, most = self.second.interval(alpha / 2, seeds)
        if not self.ratio:
            return low - most, high - least
        if least <= 0 <= most:
            return -math.inf, math.inf
        ratios = [a / b for a in (low, high) for b in (least, most)]
        return min(ratios), max(ratios)

    def p_value(self) -> float:
        """The least of :data:`LEVELS` at which the difference excludes zero; 1 for none."""
        least = 1.0
        for alpha in LEVELS:  # the lower the level, the wider the interval
            low, high = self.interval(alpha)
            if low <= 0 <= high:
                break
            least = alpha
        return least


def failures_of(
    beyond: float | None,
    bounds: Interval | None,
    direction: str,
    normalizers: Sequence[Callable[[float], float]],
) -> list[Failures] | None:
    """That a metric's runs may fail, of its range and direction; None where they may not.

    ``normalizers`` bring its values on each task into the units of the result.
    """
    if beyond is None or bounds is None:
        return None
    ends = bounds if direction == "max" else bounds[::-1]
    return [Failures(normalize(beyond), *map(normalize, ends)) for normalize in normalizers]


@lru_cache(maxsize=65_536)
def _interval(
    values: tuple[float, ...], failures: Failures, alpha: float, seeds: int | None
) -> Interval:
    """Of the mean on one task."""
    runs = np.array(values)
    failed = failures.failed(runs)
    factor = None if seeds is None else seeds / len(runs)
    share = Share.of(failed[:, None].astype(float)).interval(alpha / 3, seeds)
    others = _mean(runs[~failed], (failures.beyond, failures.best), alpha / 3, factor)
    failing = _mean(runs[failed], (failures.beyond, failures.worst), alpha / 3, factor)
    ends = [(1 - p) * m + p * f for p in share for m in others for f in failing]
    return min(ends), max(ends)


def _mean(
    runs: NDArray[np.float64], bounds: Interval, alpha: float, factor: float | None
) -> Interval:
    """Of the mean of the runs of one kind, within its range; of that range where they are few."""
    low, high = sorted(bounds)
    if len(runs) < MINIMUM_SEEDS:
        return low, high
    seeds = None if factor is None else max(MINIMUM_SEEDS, round(factor * len(runs)))
    interval = Value(location(runs[:, None], "mean")).interval(alpha, seeds) or (low, high)
    return max(low, interval[0]), min(high, interval[1])
