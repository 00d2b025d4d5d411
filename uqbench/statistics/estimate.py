"""Numbers of a board with their confidence intervals: those that claims are judged by.

Point estimates of IQM, median, mean and optimality gap are rliable's (Agarwal et al. 2021). Where a
metric's runs may fail in another way than the rest, its mean has an interval that holds however
rare failures are. Statistics whose intervals were seen to cover too little have none, such as the
worst quarter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Interval, Measurement
from uqbench.statistics import bounded
from uqbench.statistics.bounded import Ranges
from uqbench.statistics.concordance import concordance
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import location
from uqbench.statistics.statistic import contributions, point


@dataclass(frozen=True)
class Estimate:
    """A point estimate and its interval, in the units of the scores.

    ``low`` and ``high`` are both None where the runs give no interval.
    """

    value: float
    low: float | None
    high: float | None

    @property
    def against_one(self) -> Estimate:
        """One minus it: a probability's of the opposite."""
        low, high = (None if end is None else 1.0 - end for end in (self.high, self.low))
        return Estimate(1.0 - self.value, low, high)

    @classmethod
    def of(cls, measured: Measurement, seeds: int, comparisons: int = 1) -> Estimate:
        """A measurement with its 95 % interval, which fewer than three seeds do not have.

        As one of several ``comparisons``, at a level at which all together hold with 95 %.
        """
        interval = None if seeds < MINIMUM_SEEDS else measured.interval(ALPHA / comparisons)
        return cls(measured.estimate, *(interval or (None, None)))


def estimate(
    name: str,
    values: NDArray[np.float64],
    ranges: Ranges | None = None,
    *,
    clustered: bool = False,
    limits: Interval = (-math.inf, math.inf),
) -> Estimate:
    """A statistic of ``values``, ``[runs, tasks]``, with its 95 % interval.

    Args:
        name: of the statistic; see :mod:`uqbench.statistics.statistic`.
        values: finite.
        ranges: of the metric on each task where its runs may fail or it is a share: the bounds of
            its mean follow from them.
        clustered: whether the tasks of a seed share something, such as a data set: the seed with
            all its tasks is the unit then.
        limits: the least and the greatest value that the statistic can have; an interval ends
            there.
    """
    value = point(name, values)
    if len(values) < MINIMUM_SEEDS or contributions(name, values) is None:
        return Estimate(value, None, None)
    if name == "optimality_gap":
        limits = (max(0.0, 1.0 - limits[1]), 1.0 - limits[0])
        if ranges is not None:
            name, values = "mean", 1.0 - np.minimum(values, 1.0)
            ranges = [of and (1.0 - min(of[1], 1.0), 1.0 - min(of[0], 1.0)) for of in ranges]
    if name == "mean" and ranges is not None:
        of_range = bounded.mean_of(values, ranges, clustered=clustered)
        return Estimate(value, *of_range.interval(ALPHA))
    of = Estimate.of(location(values, name, clustered=clustered), len(values))
    if of.low is None or of.high is None:
        return of
    return Estimate(value, max(of.low, limits[0]), min(of.high, limits[1]))


def improvement(
    better: NDArray[np.float64], worse: NDArray[np.float64], comparisons: int = 1
) -> Estimate:
    """Probability that a run of the first beats one of the second, each ``[runs, tasks]``.

    The interval never shrinks to a point where all pairs agree. As one of several
    ``comparisons``, they hold together with 95 %. There is none where so few runs could leave
    nothing out.
    """
    measured = concordance([list(pair) for pair in zip(worse.T, better.T, strict=True)])
    found = Estimate.of(measured, min(len(better), len(worse)), comparisons)
    return Estimate(found.value, None, None) if (found.low, found.high) == (0.0, 1.0) else found
