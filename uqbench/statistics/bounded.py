"""Means of runs that may fail in another way than the rest, within the range of their metric.

A rare failure that no run has shown yet moves a mean, and no spread of the others tells of it:
Student's intervals of such runs cover half of what they say. With a range ``[low, high]`` the mean
can be bounded at any number of runs and for any distribution. The interval holds every m against
which a gambler who bets on "more" or on "less", run after run, does not win 2/α times the stake
(Waudby-Smith & Ramdas 2023, Estimating means of bounded random variables by betting, section 4.2:
hedged capital with predictable bets for a fixed number of runs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.levels import MOST_SEEDS

CAP = 0.75
"""Greatest share of the capital that is staked, as recommended there."""
BISECTIONS = 40
LEVELS = tuple(10 ** (-k / 8) for k in range(64))
"""That p-values are rounded up to."""


@dataclass(frozen=True)
class BoundedMean:
    """The mean over runs and tasks of a bounded metric; see :class:`uqbench.claim.Measurement`.

    Attributes:
        values: of the seeds, averaged over tasks, in the order of seeds: ``[runs]``.
        bounds: the metric's range.
        tasks: that were averaged over.
    """

    values: tuple[float, ...]
    bounds: Interval
    tasks: int

    @classmethod
    def of(cls, values: NDArray[np.float64], bounds: Interval) -> BoundedMean:
        """Of ``values``, ``[runs, tasks]``.

        Raises:
            ValueError: a value lies outside the range.
        """
        low, high = min(bounds), max(bounds)
        slack = 1e-9 * (high - low)
        if values.min() < low - slack or values.max() > high + slack:
            raise ValueError(
                f"values from {values.min():g} to {values.max():g} lie outside the range "
                f"[{low:g}, {high:g}]"
            )
        return cls(tuple(values.mean(axis=1).tolist()), (low, high), values.shape[1])

    @property
    def estimate(self) -> float:
        """The mean."""
        return float(np.mean(self.values))

    @property
    def runs(self) -> int:
        """Runs of all tasks."""
        return len(self.values) * self.tasks

    @lru_cache(maxsize=4096)  # noqa: B019 -- of frozen values, for all pairs of a board
    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """Every mean that the bets do not rule out; with ``seeds``, of the values repeated."""
        low, high = self.bounds
        unit = np.clip((np.array(self.values) - low) / (high - low), 0.0, 1.0)
        if seeds is not None:
            unit = np.resize(unit, min(seeds, MOST_SEEDS))
        least, rest = lowest_mean(np.stack([unit, 1.0 - unit]), alpha).tolist()
        return low + (high - low) * least, high - (high - low) * rest


@dataclass(frozen=True)
class BoundedDifference:
    """One bounded mean minus another; see :class:`uqbench.claim.Measurement`.

    Each mean has half of the error, so that the runs may share their seeds' worlds.
    """

    first: BoundedMean
    second: BoundedMean

    @property
    def estimate(self) -> float:
        """The difference."""
        return self.first.estimate - self.second.estimate

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The differences of means in both intervals."""
        low, high = self.first.interval(alpha / 2, seeds)
        least, most = self.second.interval(alpha / 2, seeds)
        return low - most, high - least

    def p_value(self) -> float:
        """The least of :data:`LEVELS` at which the interval leaves out zero; 1 for none."""
        apart = 0
        for step in (32, 16, 8, 4, 2, 1):  # the lower the level, the wider the interval
            low, high = self.interval(LEVELS[apart + step])
            apart += step if low > 0 or high < 0 else 0
        return LEVELS[apart]


@dataclass(frozen=True)
class BoundedRatio:
    """The ratio of two bounded means of independent runs; see :class:`uqbench.claim.Measurement`.

    Each mean has half of the error.
    """

    first: BoundedMean
    second: BoundedMean

    @property
    def estimate(self) -> float:
        """The ratio; not a number over zero."""
        second = self.second.estimate
        return self.first.estimate / second if second else math.nan

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The ratios of means in both intervals; all numbers, where the second may be zero."""
        low, high = self.first.interval(alpha / 2, seeds)
        least, most = self.second.interval(alpha / 2, seeds)
        if least <= 0 <= most:
            return -math.inf, math.inf
        ratios = [a / b for a in (low, high) for b in (least, most)]
        return min(ratios), max(ratios)


def lowest_mean(unit: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """The least mean in [0, 1] that bets on "more" do not rule out at ``alpha / 2``.

    Of runs ``[*, runs]`` in [0, 1], each row by itself: ``[*]``.
    """
    n = unit.shape[-1]
    steps = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(unit, axis=-1)) / (steps + 1)
    variances = (0.25 + np.cumsum((unit - means) ** 2, axis=-1)) / (steps + 1)
    known = np.full(unit.shape, 0.25)  # before each run
    known[..., 1:] = variances[..., :-1]
    goal = math.log(2 / alpha)
    stakes = np.sqrt(2 * goal / (n * known))
    outside, inside = np.zeros(unit.shape[:-1]), unit.mean(axis=-1)
    for _ in range(BISECTIONS):
        middle = (outside + inside) / 2
        m = np.maximum(middle, 1e-300)[..., None]
        won = np.log1p(np.minimum(stakes, CAP / m) * (unit - m))
        ruled_out = np.cumsum(won, axis=-1).max(axis=-1) >= goal
        outside, inside = np.where(ruled_out, middle, outside), np.where(ruled_out, inside, middle)
    return outside
