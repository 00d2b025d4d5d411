"""Numbers of a board with their confidence intervals: those that claims are judged by.

Point estimates of IQM, median, mean and optimality gap are rliable's (Agarwal et al. 2021). Where a
metric's runs may fail in another way than the rest, its mean has an interval that holds however
rare failures are. Statistics whose intervals were seen to cover too little have none: the median of
one board in six, and the worst quarter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.concordance import concordance
from uqbench.statistics.failures import FailingMean, Failures
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import Value, location
from uqbench.statistics.share import Share
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
    def around(cls, value: float, interval: Interval | None) -> Estimate:
        """With an interval, or without."""
        return cls(value, None, None) if interval is None else cls(value, *interval)


def estimate(
    name: str,
    values: NDArray[np.float64],
    failures: Sequence[Failures] | None = None,
    alpha: float = ALPHA,
    *,
    clustered: bool = False,
) -> Estimate:
    """A statistic of ``values``, ``[runs, tasks]``, with its interval of level ``1 − alpha``.

    Args:
        name: of the statistic; see :mod:`uqbench.statistics.statistic`.
        values: finite.
        failures: of the metric on each task, where its runs may fail: its mean, which is what
            failures move, has a bounded interval then.
        alpha: one minus the level.
        clustered: whether the tasks of a seed share something, such as a data set: the seed with
            all its tasks is the unit then.
    """
    value = point(name, values)
    if len(values) < MINIMUM_SEEDS or contributions(name, values) is None:
        return Estimate(value, None, None)
    if name == "mean" and failures is not None:
        return Estimate.around(value, FailingMean.of(values, failures).interval(alpha))
    return Estimate.around(
        value, Value(location(values, name, clustered=clustered)).interval(alpha)
    )


def improvement(
    better: NDArray[np.float64], worse: NDArray[np.float64], alpha: float = ALPHA
) -> Estimate:
    """Probability that a run of the first beats one of the second, each ``[runs, tasks]``.

    The interval never shrinks to a point where all pairs agree.
    """
    measured = concordance([list(pair) for pair in zip(worse.T, better.T, strict=True)])
    few = min(len(better), len(worse)) < MINIMUM_SEEDS
    return Estimate.around(measured.estimate, None if few else measured.interval(alpha))


def share(successes: NDArray[np.bool_], alpha: float = ALPHA) -> Estimate:
    """Share of ``successes``, ``[seeds, units]``, such as the truths inside 90 % intervals.

    The seed (the run) is the unit: what is scored in one run counts as one observation as far as it
    goes together. None of fewer than three seeds has an interval.
    """
    measured = Share.of(successes.astype(np.float64))
    few = len(successes) < MINIMUM_SEEDS
    return Estimate.around(measured.estimate, None if few else measured.interval(alpha))
