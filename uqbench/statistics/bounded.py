"""Means of values of a known range, shares among them: right however rare what no run has shown.

A rare failure moves a mean, and the variance of the other runs tells nothing of it. Only the range
of the values says how much. The bounds are Gaffke's (2005, Three test statistics for a
nonparametric one-sided hypothesis on the mean of a nonnegative variable; Learned-Miller & Thomas
2020): each run has a random weight, as in the Bayesian bootstrap, and so has one run more, which is
as bad as may be for the lower bound and as good for the upper one. For successes and failures they
are Clopper & Pearson's (1934). That they are right for every distribution is not proved; none is
known for which they are wrong, and ``docs/statistics.md`` has what they came to.

Where runs may fail on some tasks alone, the others' means have Student's t distribution, and draws
of both are added. The runs of all tasks with a range are taken together,
which makes the bounds rather too wide where tasks differ. Where the tasks of a seed share something
(a data set, a world, a trained predictor), a seed's mean over them is one observation. Two means
are compared by independent draws of their weights, or as the mean of seeds' differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Interval, Paired
from uqbench.contract.seeding import derive_seed
from uqbench.statistics.levels import DRAWS
from uqbench.statistics.location import Location, location

Draws = NDArray[np.float64]
Ranges = Sequence[Interval | None]
"""By task: the least and the greatest value that a run can have; None where runs do not fail."""
SHARE = (0.0, 1.0)
PLANNED = 1_999
"""Draws where a number of seeds that would decide is searched for."""
MANY = 1_600
"""Weights that are drawn and kept, in 130 MB; of more runs some share one."""


@dataclass(frozen=True)
class BoundedMean:
    """The mean over runs and tasks of values of a known range, on all of the tasks or on some.

    On the others it has Student's t distribution; the draws of both parts are independent, and are
    added. See :class:`uqbench.claim.Measurement`.

    Attributes:
        values: of independent runs, or seeds, in ascending order.
        range: the least and the greatest value that a run can have.
        seeds: runs of each task.
        runs: of all tasks.
        rest: the mean over the tasks without a range; None where all have one.
        share: of the tasks that have a range.
    """

    values: tuple[float, ...]
    range: Interval
    seeds: int
    runs: int
    rest: Location | None = None
    share: float = 1.0

    @classmethod
    def of(
        cls, values: NDArray[np.float64], ranges: Sequence[Interval], *, clustered: bool = False
    ) -> BoundedMean:
        """Bounds of values and the range on each task.

        Args:
            values: ``[runs, tasks]``.
            ranges: the least and the greatest value that a run can have, by task.
            clustered: whether the tasks of a seed share something.

        Raises:
            ValueError: a value lies outside its range.
        """
        for own, (low, high) in zip(values.T, ranges, strict=True):
            slack = 1e-9 * (high - low)
            if own.min() < low - slack or own.max() > high + slack:
                raise ValueError(
                    f"values from {own.min():g} to {own.max():g} lie outside the range "
                    f"[{low:g}, {high:g}]"
                )
        known = np.sort(values.mean(axis=1) if clustered else values.ravel())
        lows, highs = zip(*ranges, strict=True)
        return cls(tuple(known.tolist()), (min(lows), max(highs)), len(values), values.size)

    @property
    def estimate(self) -> float:
        """The mean over all tasks."""
        rest = 0.0 if self.rest is None else (1 - self.share) * self.rest.estimate
        return self.share * float(np.mean(self.values)) + rest

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """Gaffke's bounds, plus Student's t of tasks without a range."""
        return _quantiles(*_draws(self, seeds, 0), alpha)


@dataclass(frozen=True)
class Apart:
    """Two such means: their difference, or their ratio; see :class:`uqbench.claim.Measurement`."""

    first: BoundedMean
    second: BoundedMean
    ratio: bool = False

    @property
    def estimate(self) -> float:
        """The difference, or the ratio; not a number over zero."""
        first, second = self.first.estimate, self.second.estimate
        ratio = first / second if second else math.nan
        return ratio if self.ratio else first - second

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The interval of the draws' differences, or ratios.

        All numbers, where a denominator may be zero.
        """
        if self.ratio:
            least, most = self.second.interval(alpha, seeds)
            if least <= 0 <= most:
                return -math.inf, math.inf
        low, high = self._draws(seeds)
        if seeds is not None:
            return _quantiles(low, high, alpha)
        rarer = math.floor(alpha / 2 * (DRAWS + 1) + 1e-9)  # the end is that draw, as in p_value
        if rarer == 0:
            return -math.inf, math.inf
        return float(np.sort(low)[rarer - 1]), float(np.sort(high)[-rarer])

    def p_value(self) -> float:
        """The level at which the interval ends at zero; at least 2 / (DRAWS + 1)."""
        low, high = self._draws(None)
        beyond = min((low <= 0).sum(), (high >= 0).sum())
        return float(min(1.0, 2 * (beyond + 1) / (DRAWS + 1)))

    def _draws(self, seeds: int | None) -> tuple[Draws, Draws]:
        (low, high), (least, most) = _draws(self.first, seeds, 0), _draws(self.second, seeds, 1)
        if not self.ratio:
            return low - most, high - least
        ratios = [a / b for a in (low, high) for b in (least, most)]
        return np.min(ratios, axis=0), np.max(ratios, axis=0)


def mean_of(values: NDArray[np.float64], ranges: Ranges, *, clustered: bool = False) -> BoundedMean:
    """The mean of values ``[runs, tasks]``, of known range on all of the tasks or on some.

    Raises:
        ValueError: a value lies outside its range; or ``clustered``, and a task has no range.
    """
    known = [of is not None for of in ranges]
    of = BoundedMean.of(values[:, known], [of for of in ranges if of], clustered=clustered)
    if all(known):
        return of
    if clustered:
        raise ValueError("runs may fail on some tasks alone, and a seed with all tasks is one run")
    rest = location(values[:, np.logical_not(known)], "mean")
    return replace(of, runs=values.size, rest=rest, share=sum(known) / len(known))


def difference(
    first: NDArray[np.float64], second: NDArray[np.float64], ranges: Ranges, paired: Paired
) -> Apart:
    """The difference of two methods' means, of runs ``[runs, tasks]`` each.

    Where ``paired``, that of seeds whose worlds both met, which lies in a range of its own: run by
    run, or of a seed with all its tasks.
    """
    if not paired:
        return Apart(mean_of(first, ranges), mean_of(second, ranges))
    both = [None if of is None else (of[0] - of[1], of[1] - of[0]) for of in ranges]
    of = mean_of(first - second, both, clustered=paired == "seeds")
    return Apart(of, replace(of, values=(0.0,), range=(0.0, 0.0)))


def share(successes: NDArray[np.float64], methods: int = 1) -> BoundedMean:
    """The share of successes: 1, 0, or ½ of a tie, ``[seeds, units]``, of so many methods' runs.

    The seed with all its units, such as tasks, is one observation.
    """
    of = BoundedMean.of(successes, [SHARE] * successes.shape[1], clustered=True)
    return replace(of, runs=methods * successes.size)


def scaled(
    ranges: Sequence[Interval | None], normalizers: Sequence[Callable[[float], float]]
) -> Ranges | None:
    """The range of a metric on each task, in other units; None where it has one on no task.

    ``normalizers`` bring its values on each task into the units of the result.
    """
    if not any(ranges):
        return None
    both = zip(ranges, normalizers, strict=True)
    return [None if of is None else (min(map(f, of)), max(map(f, of))) for of, f in both]


def _quantiles(low: Draws, high: Draws, alpha: float) -> Interval:
    return float(np.quantile(low, alpha / 2)), float(np.quantile(high, 1 - alpha / 2))


@lru_cache(maxsize=64)
def _draws(of: BoundedMean, seeds: int | None, stream: int) -> tuple[Draws, Draws]:
    """Lower and upper bounds of a mean, with other weights for each ``stream``."""
    factor, values = 1.0 if seeds is None else seeds / of.seeds, np.array(of.values)
    sizes = _sizes(len(values))
    starts = np.append(0, np.cumsum(sizes)[:-1]).astype(int)
    weights = _weights(len(values), factor, stream)
    of_runs, last = weights[:, :-1] @ (np.add.reduceat(values, starts) / sizes), weights[:, -1]
    low, high = (np.clip(of_runs + last * end, *of.range) for end in of.range)
    if of.rest is None:
        return low, high
    at = of.rest.with_seeds(seeds)
    variance, _, _, degrees = zip(*at.parts, strict=True)
    rest = (1 - of.share) * (at.estimate + _student(degrees, len(low), stream) @ np.sqrt(variance))
    return of.share * low + rest, of.share * high + rest


@lru_cache(maxsize=4)
def _student(degrees: tuple[float, ...], draws: int, stream: int) -> Draws:
    """Draws of Student's t, ``[draws, tasks]``; kept, since they take longer than their use."""
    generator = np.random.default_rng(derive_seed("student", stream))
    return generator.standard_t(degrees, (draws, len(degrees)))


def _sizes(runs: int) -> Draws:
    """Sizes of groups of runs, in ascending order, that share one weight.

    One each, of up to ``MANY``.

    Among more, the least and the greatest quarter of ``MANY`` have weights of their own, since the
    rare ones matter; those between are in groups of neighbors, which hardly differ.
    """
    ends = np.ones(min(runs, MANY) // 4)
    between = runs - 2 * len(ends)
    groups = min(runs, MANY) - 2 * len(ends)
    sizes = np.diff(np.arange(groups + 1) * between // max(groups, 1))
    return np.concatenate([ends, sizes, ends])


@lru_cache(maxsize=2)
def _weights(runs: int, factor: float, stream: int) -> Draws:
    """Weights that sum to one, ``[draws, groups + 1]``: of ``factor`` times the runs, and of one.

    The last is that of the one run more.
    """
    draws, sizes = DRAWS if factor == 1 else PLANNED, factor * _sizes(runs)
    generator = np.random.default_rng(derive_seed("weights", stream))
    weights = np.empty((draws, len(sizes) + 1))
    for some in np.array_split(weights, 10):  # the same numbers as at once, in half the memory
        some[:, :-1] = generator.standard_gamma(sizes, (len(some), len(sizes)))
    weights[:, -1] = generator.standard_exponential(draws)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
