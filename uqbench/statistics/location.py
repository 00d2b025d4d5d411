"""Means, interquartile means and medians of runs, their differences and ratios, with t intervals.

The statistics are the leaderboard's (rliable's): over runs and tasks. Their variances are those of
the stratified bootstrap, times n/(n − 1), since resampling n runs gives too small a variance by
that factor; for the mean that is its usual standard error. Student's t quantile, not the normal
one, makes up for a variance that is itself estimated from few runs, with n − 1 degrees of freedom:
fewer than there are where there are several tasks, so these intervals are rather too wide. Where
the tasks of a seed share something (a data set), seeds with all their tasks are resampled: a
cluster each.

A mean of skewed runs is off to one side more often than Student allows for. Its interval reaches
as far as the bootstrap-t's (Hall 1988), too, which resamples the studentized mean and so follows
the skewness; with so few runs that many resamples are all one run, at the level that they allow.

Runs that are all equal have no standard error. From six seeds on (more, where there are several
tasks or comparisons) they have the interval of the median run instead, which is the value itself:
that the median lies above, or below, all of n runs has probability 2^(1 − n).

Above a thousand seeds nothing is resampled: see :mod:`uqbench.statistics.jackknife`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.seeding import derive_seed
from uqbench.statistics.jackknife import GROUPS, MANY_SEEDS, jackknife_variance
from uqbench.statistics.quantiles import t_quantile, t_tail
from uqbench.statistics.statistic import batched

Statistic = Literal["iqm", "mean", "median"]


@dataclass(frozen=True)
class Studentized:
    """The bootstrap distribution of (mean − true mean) / standard error, of ``[runs, tasks]``."""

    values: NDArray[np.float64]

    @property
    def least_alpha(self) -> float:
        """Below it the quantiles are those of resamples that are all one run, and mean nothing."""
        runs, tasks = self.values.shape
        return float(20 * float(runs) ** ((1 - runs) * tasks))

    def quantiles(self, alpha: float) -> Interval | None:
        """Those at α/2 and 1 − α/2, at the least α that the runs allow; None for too few runs."""
        alpha = max(alpha, self.least_alpha)
        if alpha >= 1:
            return None
        low, high = np.quantile(self._errors, [alpha / 2, 1 - alpha / 2])
        return float(low), float(high)

    @cached_property
    def _errors(self) -> NDArray[np.float64]:
        from uqbench.statistics.bootstrap import replicates  # imports rliable, which takes a second

        # the spelling of the name is part of the draws
        generator = np.random.default_rng(derive_seed("studentised"))
        return replicates(_studentized, self.values - self.values.mean(), generator)


def _studentized(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over their standard errors, of ``[R, runs, tasks]``."""
    runs, tasks = resamples.shape[1:]
    errors = np.sqrt(resamples.var(axis=1, ddof=1).sum(axis=1) / runs) / tasks
    # all one run: as far out as the smallest spread of any other resample puts it
    least = errors[errors > 0].min(initial=1.0)
    return np.asarray(resamples.mean(axis=(1, 2)) / np.maximum(errors, least))


@dataclass(frozen=True)
class Location:
    """A statistic of one method's runs.

    Attributes:
        value: of the statistic.
        variance: its squared standard error.
        seeds: runs of each task.
        runs: of all tasks.
        skewed: the distribution of its studentized error; only of a mean.
        groups: that the variance was estimated from; the seeds themselves where it is None.
    """

    value: float
    variance: float
    seeds: int
    runs: int
    skewed: Studentized | None = field(default=None, compare=False)
    groups: int | None = None

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the variance."""
        return (self.groups or self.seeds) - 1

    def with_seeds(self, seeds: int | None) -> Location:
        """The same spread, from that many runs of each task."""
        if seeds is None:
            return self
        factor = self.seeds / seeds
        return Location(
            self.value, self.variance * factor, seeds, round(self.runs / factor), None, self.groups
        )


@dataclass(frozen=True)
class Value:
    """One statistic by itself; see :class:`uqbench.claim.Measurement`."""

    of: Location

    @property
    def estimate(self) -> float:
        """The statistic."""
        return self.of.value

    @property
    def runs(self) -> int:
        """Runs that it is taken over."""
        return self.of.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Student's interval, or the bootstrap-t's where that reaches further.

        None for too few runs without spread.
        """
        of = self.of.with_seeds(seeds)
        if of.variance == 0:
            return _without_spread(self.estimate, [of], alpha)
        low, high = _around(self.estimate, of.variance, of.degrees, alpha)
        errors = of.skewed.quantiles(alpha) if of.skewed is not None else None
        if errors is not None:
            scale = math.sqrt(of.variance)
            low = min(low, self.estimate - errors[1] * scale)
            high = max(high, self.estimate - errors[0] * scale)
        return low, high


@dataclass(frozen=True)
class Difference:
    """One statistic minus another, of independent runs; see :class:`uqbench.claim.Measurement`."""

    first: Location
    second: Location

    @property
    def estimate(self) -> float:
        """The difference."""
        return self.first.value - self.second.value

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Welch's interval; None for too few runs without spread."""
        first, second = self.first.with_seeds(seeds), self.second.with_seeds(seeds)
        variance = first.variance + second.variance
        if variance == 0:
            return _without_spread(self.estimate, [first, second], alpha)
        return _around(self.estimate, variance, _welch(first, second), alpha)

    def p_value(self) -> float:
        """Welch's two-sided p-value that there is none, of runs that have a spread."""
        errors = abs(self.estimate) / math.sqrt(self.first.variance + self.second.variance)
        return 2 * t_tail(errors, _welch(self.first, self.second))


@dataclass(frozen=True)
class Ratio:
    """One statistic over another, of independent runs; see :class:`uqbench.claim.Measurement`."""

    first: Location
    second: Location

    @property
    def estimate(self) -> float:
        """The ratio; not a number over zero."""
        return self.first.value / self.second.value if self.second.value else math.nan

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Every r with (a − r b)² ≤ t² (s²_a + r² s²_b), a's and b's squared errors (Fieller 1954).

        All numbers, where b may be zero; None for too few runs without spread.
        """
        first, second = self.first.with_seeds(seeds), self.second.with_seeds(seeds)
        if second.value == 0:
            return -math.inf, math.inf
        if first.variance + second.variance == 0:
            return _without_spread(self.estimate, [first, second], alpha)
        scaled = Location(
            second.value,
            second.variance * self.estimate**2,
            second.seeds,
            second.runs,
            None,
            second.groups,
        )
        t = t_quantile(1 - alpha / 2, _welch(first, scaled))
        # A r² − 2 B r + C ≤ 0
        quadratic = second.value**2 - t**2 * second.variance
        linear = first.value * second.value
        constant = first.value**2 - t**2 * first.variance
        if quadratic <= 0:
            return -math.inf, math.inf
        half = math.sqrt(max(0.0, linear**2 - quadratic * constant))
        return (linear - half) / quadratic, (linear + half) / quadratic


def location(values: NDArray[np.float64], statistic: str, *, clustered: bool = False) -> Location:
    """The statistic of ``values``, ``[runs, tasks]``, and its squared standard error.

    ``statistic`` is a name of :mod:`uqbench.statistics.statistic`; where ``clustered``, the tasks
    of a seed are not independent.
    """
    runs, tasks = values.shape
    varies = bool(
        np.ptp(values, axis=0).any()
    )  # a variance of equal numbers may be a rounding error
    if statistic == "mean":
        value, many = float(values.mean()), values.size
        if clustered:
            values, tasks = values.mean(axis=1, keepdims=True), 1
            varies = bool(np.ptp(values))
        variance = values.var(axis=0, ddof=1).sum() / runs / tasks**2 if varies else 0.0
        skewed = Studentized(values) if varies and runs <= MANY_SEEDS else None
        return Location(value, float(variance), runs, many, skewed)
    of = batched(statistic)
    value, variance = float(of(values[None])[0]), 0.0
    if varies and runs > MANY_SEEDS:
        variance = jackknife_variance(statistic, values)
        return Location(value, variance, runs, values.size, None, GROUPS)
    if varies:
        from uqbench.statistics.bootstrap import replicates  # imports rliable, which takes a second

        generator = np.random.default_rng(derive_seed("standard error"))
        spread = replicates(of, values, generator, clustered=clustered).var()
        variance = float(spread) * runs / (runs - 1)
    return Location(value, variance, runs, values.size)


def _without_spread(estimate: float, parts: Sequence[Location], alpha: float) -> Interval | None:
    """The value itself, where the medians of all parts' tasks are known at that level."""
    error = sum(part.runs / part.seeds * 2.0 ** (1 - part.seeds) for part in parts)
    return (estimate, estimate) if error <= alpha else None


def _around(estimate: float, variance: float, degrees: float, alpha: float) -> Interval:
    half = t_quantile(1 - alpha / 2, degrees) * math.sqrt(variance)
    return estimate - half, estimate + half


def _welch(first: Location, second: Location) -> float:
    """Degrees of freedom of a sum of two estimated variances (Welch 1947, Satterthwaite 1946)."""
    squares = first.variance**2 / first.degrees + second.variance**2 / second.degrees
    return (first.variance + second.variance) ** 2 / squares
