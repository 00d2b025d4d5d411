"""Means of runs, their differences and ratios, with t intervals: how sure a number of a board is.

A statistic is the mean over tasks of the tasks' means (of each run's contribution to it:
:func:`uqbench.statistics.statistic.contributions`). Its variance is the sum of the tasks' own, each
of n runs with n − 1 degrees of freedom, and Satterthwaite's formula (1946) says how many the sum
has; a difference of two methods sums over the tasks of both (Welch 1947). Where the tasks of a seed
share something (a data set), a seed's mean over its tasks is one observation.

A mean of skewed runs is off to one side more often than Student allows for. An interval, of a mean
and of a difference alike, reaches as far as Hall's, too (1992, On the removal of skewness by
transformation), whose cubic of t takes the skewness out; a p-value is the level at which that
interval ends at zero. ``docs/coverage.md`` has what either covers.

Runs that are all equal have no standard error: neither an interval, since none of zero width is
right for a mean, nor a p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import CannotCompareError, Interval
from uqbench.statistics.quantiles import t_quantile, t_tail
from uqbench.statistics.statistic import contributions, point

Statistic = Literal["iqm", "mean", "median"]

MINIMUM_TASKS = 3
"""The fewest that have a spread worth the name."""
ROUNDING = 1e-12
"""Spreads below it, as a share of the values, are none."""


@dataclass(frozen=True)
class Location:
    """A statistic of one method's runs.

    Attributes:
        value: of the statistic.
        variances: the squared standard errors that each task adds.
        skewness: of the statistic's error, in standard errors; 0 where it is not known.
        seeds: runs of each task.
        runs: of all tasks.
    """

    value: float
    variances: tuple[float, ...]
    skewness: float
    seeds: int
    runs: int

    @property
    def variance(self) -> float:
        """The squared standard error."""
        return sum(self.variances)

    @property
    def imprecision(self) -> float:
        """The variance's square over its degrees of freedom, which adds up over tasks."""
        return sum(v * v for v in self.variances) / (self.seeds - 1)

    @property
    def third(self) -> float:
        """The third moment of the statistic's error, which adds up as variances do."""
        return float(self.skewness * self.variance**1.5)

    def with_seeds(self, seeds: int | None) -> Location:
        """This distribution of runs, with that many of each task."""
        if seeds is None:
            return self
        factor = self.seeds / seeds
        return Location(
            self.value,
            tuple(v * factor for v in self.variances),
            self.skewness * math.sqrt(factor),
            seeds,
            round(self.runs / factor),
        )

    def times(self, factor: float) -> Location:
        """The statistic of as many times the runs' values."""
        scaled = tuple(v * factor**2 for v in self.variances)
        return replace(self, value=self.value * factor, variances=scaled)


@dataclass(frozen=True)
class StudentT:
    """An estimate in standard errors: Student's t, with Hall's correction of its skewness."""

    estimate: float
    variance: float
    degrees: float
    skewness: float

    @classmethod
    def of(cls, first: Location, second: Location | None = None) -> StudentT | None:
        """The value, or the difference of two; None of runs without variance."""
        if second is None:
            variance, estimate, third = first.variance, first.value, first.third
            imprecision = first.imprecision
        else:
            variance, estimate = first.variance + second.variance, first.value - second.value
            imprecision, third = first.imprecision + second.imprecision, first.third - second.third
        if variance == 0:
            return None
        return cls(estimate, variance, variance**2 / imprecision, third / variance**1.5)

    def interval(self, alpha: float) -> Interval:
        """Student's interval, or Hall's where that reaches further."""
        t, scale = t_quantile(1 - alpha / 2, self.degrees), math.sqrt(self.variance)
        low, high = (_hall(end, self.skewness) for end in (-t, t))
        return self.estimate - max(t, high) * scale, self.estimate - min(-t, low) * scale

    def p_value(self) -> float:
        """Two-sided, that it is zero: the level at which the interval ends there."""
        t, a = self.estimate / math.sqrt(self.variance), self.skewness
        g = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        return min(1.0, 2 * t_tail(min(abs(t), math.copysign(1.0, t) * g), self.degrees))


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
        """The interval of :class:`StudentT`; None for runs without variance."""
        t = StudentT.of(self.of.with_seeds(seeds))
        return None if t is None else t.interval(alpha)

    def p_value(self) -> float | None:
        """Two-sided, that it is zero; None for runs without variance."""
        t = StudentT.of(self.of)
        return None if t is None else t.p_value()


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
        """The interval of :class:`StudentT` (Welch 1947); None for runs without variance."""
        t = StudentT.of(self.first.with_seeds(seeds), self.second.with_seeds(seeds))
        return None if t is None else t.interval(alpha)

    def p_value(self) -> float | None:
        """Two-sided, that there is none; None for runs without variance."""
        t = StudentT.of(self.first, self.second)
        return None if t is None else t.p_value()


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

        All numbers, where b may be zero; None for runs without variance.
        """
        first, second = self.first.with_seeds(seeds), self.second.with_seeds(seeds)
        if second.value == 0:
            return -math.inf, math.inf
        if first.variance + second.variance == 0:
            return None
        t = t_quantile(1 - alpha / 2, _degrees(first, second.times(self.estimate)))
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

    Raises:
        ValueError: the statistic has no interval.
    """
    own = contributions(statistic, values)
    if own is None:
        raise ValueError(f"{statistic} has no standard error that so few runs tell")
    if clustered:
        own = own.mean(axis=1, keepdims=True)
    seeds, tasks = own.shape
    own = np.where(np.ptp(own, axis=0) > ROUNDING * np.abs(own).max(axis=0), own, 0.0)
    errors = own - own.mean(axis=0)
    variances = (errors**2).sum(axis=0) / max(seeds - 1, 1) / seeds / tasks**2
    skewness = 0.0
    if seeds > 2 and variances.any():
        third = (errors**3).sum(axis=0) / ((seeds - 1) * (seeds - 2)) / seeds / tasks**3
        skewness = float(third.sum() / variances.sum() ** 1.5)
    value = point(statistic, values)
    return Location(value, tuple(variances.tolist()), skewness, seeds, values.size)


class OverTasks(Value):
    """A statistic over tasks, each of which is one observation.

    Runs that share a batch share its clock: their steps per second are one number, measured once,
    and do not tell how far another measurement would lie. Each task is a measurement of its own,
    and the spread between tasks is that of the measurement and of the tasks together: rather too
    much.
    """

    @classmethod
    def of_runs(
        cls, by: Statistic, first: NDArray[np.float64], second: NDArray[np.float64] | None = None
    ) -> OverTasks:
        """The statistic of the tasks' means, or ratios of means, of runs ``[runs, tasks]`` each."""
        values, runs = first.mean(axis=0), first.size
        if second is not None:
            values, runs = values / second.mean(axis=0), runs + second.size
        return cls(replace(location(values[:, None], by), runs=runs))

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Student's interval over tasks, whatever ``seeds`` is: more of them are no more tasks."""
        return super().interval(alpha)


@dataclass(frozen=True)
class Exact:
    """A number without randomness: equal in all runs; see :class:`uqbench.claim.Measurement`."""

    estimate: float
    runs: int

    @classmethod
    def of(cls, first: Location, second: Location | None) -> Exact:
        """A value, or the ratio of two.

        Raises:
            CannotCompareError: the runs differ.
        """
        if first.variance or (second is not None and second.variance):
            raise CannotCompareError("declared exact, but its runs differ from seed to seed")
        measured = Value(first) if second is None else Ratio(first, second)
        return cls(measured.estimate, measured.runs)

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The number itself."""
        return self.estimate, self.estimate


def paired_difference(
    first: NDArray[np.float64], second: NDArray[np.float64], by: str = "mean"
) -> Value:
    """The difference of two methods that met the same seeds' worlds, ``[runs, tasks]`` each.

    A seed with all its tasks is one observation.
    """
    own = by_seed(first, by) - by_seed(second, by)
    if np.ptp(own) <= ROUNDING * max(np.abs(first).max(), np.abs(second).max()):
        own = np.full_like(own, own.mean())
    of = location(own, "mean")
    return Value(replace(of, value=point(by, first) - point(by, second), runs=2 * first.size))


def by_seed(values: NDArray[np.float64], statistic: str) -> NDArray[np.float64]:
    """Contributions of whole seeds to a statistic of ``[runs, tasks]``: ``[runs, 1]``."""
    own = contributions(statistic, values)
    assert own is not None
    return np.asarray(own.mean(axis=1, keepdims=True))


def _hall(bound: float, skewness: float) -> float:
    """The t whose t + a t²/3 + a² t³/27 + a/6 is ``bound``, of skewness a (Hall 1992)."""
    a = skewness
    return 3 / a * (math.cbrt(1 + a * (bound - a / 6)) - 1) if abs(a) > 1e-9 else bound


def _degrees(first: Location, second: Location) -> float:
    """Degrees of freedom of a sum of two estimated variances (Welch 1947, Satterthwaite 1946)."""
    return (first.variance + second.variance) ** 2 / (first.imprecision + second.imprecision)
