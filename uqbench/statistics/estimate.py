"""Numbers of a board with their confidence intervals: those that claims are judged by.

Point estimates of IQM, median, mean and optimality gap are rliable's (Agarwal et al. 2021). Where a
metric's runs may fail in another way than the rest, its mean has an interval that holds however
rare failures are. Statistics whose intervals were seen to cover too little have none, such as the
worst quarter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Interval, Measurement
from uqbench.statistics import bounded
from uqbench.statistics.concordance import concordance
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import Value, location
from uqbench.statistics.statistic import contributions, point


@dataclass(frozen=True)
class Estimate:
    """A point estimate and its interval, in the units of the scores.

    ``low`` and ``high`` are both None where the runs give no interval.
    """

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, measured: Measurement, seeds: int) -> Estimate:
        """A measurement with its 95 % interval, which fewer than three seeds do not have."""
        interval = None if seeds < MINIMUM_SEEDS else measured.interval(ALPHA)
        return cls(measured.estimate, *(interval or (None, None)))


def estimate(
    name: str,
    values: NDArray[np.float64],
    ranges: Sequence[Interval] | None = None,
    *,
    clustered: bool = False,
) -> Estimate:
    """A statistic of ``values``, ``[runs, tasks]``, with its 95 % interval.

    Args:
        name: of the statistic; see :mod:`uqbench.statistics.statistic`.
        values: finite.
        ranges: of the metric on each task, where its runs may fail or it is a share: the bounds of
            its mean follow from them.
        clustered: whether the tasks of a seed share something, such as a data set: the seed with
            all its tasks is the unit then.
    """
    value = point(name, values)
    if len(values) < MINIMUM_SEEDS or contributions(name, values) is None:
        return Estimate(value, None, None)
    if name == "mean" and ranges is not None:
        of = bounded.BoundedMean.of(values, ranges, clustered=clustered)
        return Estimate(value, *of.interval(ALPHA))
    return Estimate.of(Value(location(values, name, clustered=clustered)), len(values))


def improvement(better: NDArray[np.float64], worse: NDArray[np.float64]) -> Estimate:
    """Probability that a run of the first beats one of the second, each ``[runs, tasks]``.

    The interval never shrinks to a point where all pairs agree.
    """
    measured = concordance([list(pair) for pair in zip(worse.T, better.T, strict=True)])
    return Estimate.of(measured, min(len(better), len(worse)))


def share(successes: NDArray[np.bool_]) -> Estimate:
    """Share of ``successes``, ``[seeds, units]``, such as the truths inside 90 % intervals.

    The seed (the run) is the unit: what is scored in one run counts as one observation as far as it
    goes together. None of fewer than three seeds has an interval.
    """
    return Estimate.of(bounded.share(successes.astype(np.float64)), len(successes))
