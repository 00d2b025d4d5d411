"""Means, interquartile means and medians of runs, their differences and ratios, with t intervals.

A mean is that of the tasks' means. Its variance is the sum of the tasks' own, each of n runs with
n − 1 degrees of freedom, and Satterthwaite's formula (1946) says how many the sum has; a difference
of two methods sums over the tasks of both (Welch 1947). Where the tasks of a seed share something
(a data set), a seed's mean over its tasks is one observation.

The variances of other statistics are those of the stratified bootstrap, times n/(n − 1), since
resampling n runs gives too small a variance by that factor, with n − 1 degrees of freedom.

Runs that are all equal have no standard error. From six seeds on (more, where there are several
tasks or comparisons) they have the interval of the median run instead, which is the value itself:
that the median lies above, or below, all of n runs has probability 2^(1 − n).

Above a thousand seeds nothing is resampled: see :mod:`uqbench.statistics.jackknife`. How often all
this errs is measured: ``docs/coverage.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
class Location:
    """A statistic of one method's runs.

    Attributes:
        value: of the statistic.
        variance: its squared standard error.
        seeds: runs of each task.
        runs: of all tasks.
        degrees: of freedom of the variance.
    """

    value: float
    variance: float
    seeds: int
    runs: int
    degrees: float

    def with_seeds(self, seeds: int | None) -> Location:
        """The same spread, from that many runs of each task."""
        if seeds is None:
            return self
        factor = seeds / self.seeds
        return Location(
            self.value,
            self.variance / factor,
            seeds,
            round(self.runs * factor),
            self.degrees * (seeds - 1) / (self.seeds - 1),
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
        """Student's interval; None for too few runs without spread."""
        of = self.of.with_seeds(seeds)
        if of.variance == 0:
            return _without_spread(self.estimate, [of], alpha)
        return _around(self.estimate, of.variance, of.degrees, alpha)

    def p_value(self) -> float:
        """Student's two-sided p-value that it is zero."""
        return _p_value(self.estimate, [self.of])


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
        """Welch's two-sided p-value that there is none."""
        return _p_value(self.estimate, [self.first, self.second])


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
        scaled = replace(second, variance=second.variance * self.estimate**2)
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
    if statistic == "mean":
        return _mean(values.mean(axis=1, keepdims=True) if clustered else values, values.size)
    of, runs = batched(statistic), len(values)
    value, variance, degrees = float(of(values[None])[0]), 0.0, runs - 1
    if np.ptp(values, axis=0).any():
        if runs > MANY_SEEDS:
            variance, degrees = jackknife_variance(statistic, values), GROUPS - 1
        else:
            from uqbench.statistics.bootstrap import replicates  # imports rliable: takes a second

            generator = np.random.default_rng(derive_seed("standard error"))
            spread = replicates(of, values, generator, clustered=clustered).var()
            variance = float(spread) * runs / (runs - 1)
    return Location(value, variance, runs, values.size, degrees)


def _mean(values: NDArray[np.float64], runs: int) -> Location:
    seeds, tasks = values.shape
    # a variance of equal numbers may be a rounding error
    of_tasks = np.where(np.ptp(values, axis=0) > 0, values.var(axis=0, ddof=1), 0.0)
    of_tasks /= seeds * tasks**2
    variance = float(of_tasks.sum())
    degrees = (seeds - 1) * (variance**2 / float(of_tasks @ of_tasks) if variance else 1.0)
    return Location(float(values.mean()), variance, seeds, runs, degrees)


def _p_value(estimate: float, parts: Sequence[Location]) -> float:
    """Two-sided, of a sum of parts that is zero; of runs without spread, that of their medians."""
    variance = sum(part.variance for part in parts)
    if estimate == 0:
        return 1.0
    if variance == 0:
        return min(1.0, _median_error(parts))
    degrees = variance**2 / sum(part.variance**2 / part.degrees for part in parts)
    return 2 * t_tail(abs(estimate) / math.sqrt(variance), degrees)


def _median_error(parts: Sequence[Location]) -> float:
    """The chance that the median of some task lies above, or below, all of its runs."""
    return sum(part.runs / part.seeds * 2.0 ** (1 - part.seeds) for part in parts)


def _without_spread(estimate: float, parts: Sequence[Location], alpha: float) -> Interval | None:
    """The value itself, where the medians of all parts' tasks are known at that level."""
    return (estimate, estimate) if _median_error(parts) <= alpha else None


def _around(estimate: float, variance: float, degrees: float, alpha: float) -> Interval:
    half = t_quantile(1 - alpha / 2, degrees) * math.sqrt(variance)
    return estimate - half, estimate + half


def _welch(first: Location, second: Location) -> float:
    """Degrees of freedom of a sum of two estimated variances (Welch 1947, Satterthwaite 1946)."""
    squares = first.variance**2 / first.degrees + second.variance**2 / second.degrees
    return (first.variance + second.variance) ** 2 / squares
