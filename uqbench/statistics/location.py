"""Means of runs and their differences, with t intervals: how sure a number of a board is.

A statistic is the mean over tasks of the tasks' means (of each run's contribution to it:
:func:`uqbench.statistics.statistic.contributions`). Its variance is the sum of the tasks' own, each
of n runs with n − 1 degrees of freedom, and Satterthwaite's formula (1946) says how many the sum
has; a difference of two methods sums over the tasks of both (Welch 1947). Where the tasks of a seed
share something (a data set), a seed's mean over its tasks is one observation. The runs that an IQM
cuts off leave it as many degrees fewer (Yuen 1974, who takes off one or two more).

A mean of skewed runs is off to one side more often than Student allows for. An interval, of a mean
and of a difference alike, reaches as far as Hall's, too (1992, On the removal of skewness by
transformation), whose cubic of t takes the skewness out; a p-value is the level at which that
interval ends at zero. ``docs/statistics.md`` has what either covers.

Runs that are all equal have no standard error: neither an interval, since none of zero width is
right for a mean, nor a p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Interval, Paired
from uqbench.statistics.quantiles import t_quantile, t_tail
from uqbench.statistics.statistic import contributions, kept, point

Runs = NDArray[np.float64]
ROUNDING = 1e-12
"""Spreads below it, as a share of the values, are none."""


class Part(NamedTuple):
    """The error that a task of one method adds to a statistic's.

    Attributes:
        variance: the squared standard error.
        third: the third moment of the error.
        seeds: runs that it is of.
        degrees: of freedom, of the variance.
    """

    variance: float
    third: float
    seeds: int
    degrees: float


@dataclass(frozen=True)
class Location:
    """A statistic of one method's runs, or of two methods; see :class:`uqbench.claim.Measurement`.

    Attributes:
        estimate: of the statistic.
        parts: errors that add up, of each task and method.
        runs: of all tasks.
    """

    estimate: float
    parts: tuple[Part, ...]
    runs: int

    @property
    def variance(self) -> float:
        """The squared standard error."""
        return sum(of.variance for of in self.parts)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the variance (Satterthwaite 1946)."""
        return self.variance**2 / sum(of.variance**2 / of.degrees for of in self.parts)

    @property
    def skewness(self) -> float:
        """The skewness of the statistic's error; zero without any."""
        third = sum(of.third for of in self.parts)
        return third / self.variance**1.5 if self.variance else 0.0

    def with_seeds(self, seeds: int | None) -> Location:
        """This distribution of runs, with that many of each task."""
        if seeds is None:
            return self
        parts = [
            Part(v * n / seeds, third * (n / seeds) ** 2, seeds, f * (seeds - 1) / max(n - 1, 1))
            for v, third, n, f in self.parts
        ]
        return replace(self, parts=tuple(parts))

    def plus(self, factor: float, other: Location) -> Location:
        """The sum with so many times the statistic of another method's independent runs."""
        more = [Part(factor**2 * v, factor**3 * third, n, f) for v, third, n, f in other.parts]
        estimate = self.estimate + factor * other.estimate
        return Location(estimate, (*self.parts, *more), self.runs + other.runs)

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Student's interval, or Hall's where it reaches further; None of runs without variance."""
        of = self.with_seeds(seeds)
        if of.variance == 0:
            return None
        t, scale, a = t_quantile(1 - alpha / 2, of.degrees), math.sqrt(of.variance), of.skewness
        return of.estimate - max(t, _hall(t, a)) * scale, of.estimate - min(
            -t, _hall(-t, a)
        ) * scale

    def p_value(self) -> float | None:
        """Two-sided, that it is zero: the level at which the interval ends there; None as well."""
        if self.variance == 0:
            return None
        t, a = self.estimate / math.sqrt(self.variance), self.skewness
        g = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        return min(1.0, 2 * t_tail(min(abs(t), math.copysign(1.0, t) * g), self.degrees))


def location(values: Runs, statistic: str, *, clustered: bool = False) -> Location:
    """The statistic of ``values``, ``[runs, tasks]``, and its squared standard error.

    ``statistic`` is a name of :mod:`uqbench.statistics.statistic`; where ``clustered``, the tasks
    of a seed are not independent.

    Raises:
        ValueError: the statistic has no interval.
    """
    own = _observations(values, statistic, clustered=clustered)
    seeds, tasks = own.shape
    own = np.where(np.ptp(own, axis=0) > ROUNDING * np.abs(own).max(axis=0), own, 0.0)
    errors = own - own.mean(axis=0)
    variances = (errors**2).sum(axis=0) / max(seeds - 1, 1) / seeds / tasks**2
    thirds = (errors**3).sum(axis=0) / max((seeds - 1) * (seeds - 2), 1) / seeds / tasks**3
    left = (seeds - 1) * kept(statistic, values)
    both = zip(variances.tolist(), thirds.tolist(), strict=True)
    parts = [Part(variance, third, seeds, left) for variance, third in both]
    return Location(point(statistic, values), tuple(parts), values.size)


def paired_difference(first: Runs, second: Runs, by: str, paired: Paired) -> Location:
    """The difference of two methods that met the same of each seed, ``[runs, tasks]`` each.

    Where ``paired`` by seeds, one with all its tasks is one observation.
    """
    one, other = (_observations(of, by, clustered=paired == "seeds") for of in (first, second))
    least = ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    own, left = one - other, kept(by, first)
    own = np.where(np.ptp(own, axis=0) > least, own, own.mean(axis=0))
    parts = tuple(of._replace(degrees=of.degrees * left) for of in location(own, "mean").parts)
    return Location(point(by, first) - point(by, second), parts, 2 * first.size)


def _observations(values: Runs, statistic: str, *, clustered: bool) -> Runs:
    own = contributions(statistic, values)
    if own is None:
        raise ValueError(f"{statistic} has no standard error that so few runs tell")
    return own.mean(axis=1, keepdims=True) if clustered else own


def _hall(bound: float, skewness: float) -> float:
    """The t whose t + a t²/3 + a² t³/27 + a/6 is ``bound``, of skewness a (Hall 1992)."""
    a = skewness
    return 3 / a * (math.cbrt(1 + a * (bound - a / 6)) - 1) if abs(a) > 1e-9 else bound
