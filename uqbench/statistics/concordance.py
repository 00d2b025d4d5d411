"""Concordance of ordered groups of runs, with an interval that few runs can carry.

Groups of runs have an order, say "qr-dqn, then ua-dqn". The *concordance* is the probability that
of two runs of different groups on the same task the one of the later group has the greater value,
a tie counting half, averaged over tasks. For two groups it is rliable's probability of improvement
(Mann & Whitney's statistic as a share of the pairs), for more Jonckheere & Terpstra's.

Percentile bootstrap intervals are too narrow with few runs. The interval here holds every θ with

    |θ̂ − θ| ≤ z · √v(θ) + c  or  |θ̂ − θ| ≤ t · ŝ,

- v(θ) = 4θ(1 − θ) v₀, with v₀ the variance of θ̂ where all runs are exchangeable, exact without
  ties: a score interval, which stays inside [0, 1] and does not shrink to a point where all pairs
  agree; z the normal quantile, c half a pair for continuity;
- ŝ², the variance estimated from the runs' own shares of concordant pairs (DeLong et al. 1988;
  Brunner & Munzel 2000 for two groups): larger than v(θ) where the groups' variances differ; t of
  as many degrees of freedom as it has by Satterthwaite's formula (1946).

It holds everything where even runs that do not overlap would be no rarer than the level.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Interval
from uqbench.statistics.quantiles import t_quantile

Sizes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Concordance:
    """The concordance of groups of runs.

    Attributes:
        estimate: θ̂.
        variance: ŝ².
        degrees: of freedom, of ŝ².
        sizes: runs of each group, by task.
    """

    estimate: float
    variance: float
    degrees: float
    sizes: Sizes

    @property
    def runs(self) -> int:
        """Runs of all groups and tasks."""
        return sum(map(sum, self.sizes))

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """See :class:`uqbench.claim.Measurement`; never None, since a share has known extremes."""
        sizes, variance, degrees = self.sizes, self.variance, self.degrees
        if seeds is not None:
            variance *= min(map(min, sizes)) / seeds
            degrees *= seeds / min(map(min, sizes))
            sizes = tuple((seeds,) * len(groups) for groups in sizes)
        orders = sum(math.lgamma(sum(g) + 1) - sum(math.lgamma(n + 1) for n in g) for g in sizes)
        if orders < math.log(2 / alpha):  # of the runs' groups, by its logarithm
            return 0.0, 1.0
        half_a_pair = 0.5 / sum(map(_pairs, sizes))
        low = _score_end(self.estimate - half_a_pair, sizes, alpha, -1)
        high = _score_end(self.estimate + half_a_pair, sizes, alpha, 1)
        studentized = t_quantile(1 - alpha / 2, degrees) * math.sqrt(variance)
        low = max(0.0, min(low, self.estimate - studentized))
        return low, min(1.0, max(high, self.estimate + studentized))


def concordance(tasks: Sequence[Sequence[NDArray[np.float64]]]) -> Concordance:
    """The concordance of ordered groups: for each task, for each group, the values ``[runs]``.

    ŝ² is zero in a group of one run, whose variance is not known.
    """
    sizes = tuple(tuple(map(len, groups)) for groups in tasks)
    estimates, parts = [], []
    for groups, counts in zip(tasks, sizes, strict=True):
        own, pairs = _concordant(groups), _pairs(counts)
        estimates.append(sum(map(np.sum, own)) / 2 / pairs)
        for mine, n in zip(own, counts, strict=True):
            if n > 1:
                variance = n * float(mine.var(ddof=1)) / (pairs * len(tasks)) ** 2
                parts.append((variance, n - 1))
    total = sum(variance for variance, _ in parts)
    squares = sum(variance**2 / degrees for variance, degrees in parts)
    degrees = total**2 / squares if squares else 1.0
    return Concordance(float(np.mean(estimates)), total, degrees, sizes)


def exchangeable_variance(sizes: Sizes) -> float:
    """v₀: variance of θ̂ where runs of a task are equally distributed, no ties (Jonckheere 1954)."""
    return sum(map(_task_variance, sizes)) / len(sizes) ** 2


def _task_variance(groups: tuple[int, ...]) -> float:
    total = sum(groups)
    ordered = total**2 * (2 * total + 3) - sum(n**2 * (2 * n + 3) for n in groups)
    return ordered / 72 / _pairs(groups) ** 2


def _score_end(estimate: float, sizes: Sizes, alpha: float, side: int) -> float:
    """The end of Wilson's interval of 1 / 4v₀ trials, on that side."""
    estimate = min(1.0, max(0.0, estimate))
    square = NormalDist().inv_cdf(1 - alpha / 2) ** 2 * 4 * exchangeable_variance(sizes)
    half = math.sqrt(square * estimate * (1 - estimate) + square**2 / 4)
    return (estimate + square / 2 + side * half) / (1 + square)


def _concordant(groups: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """For each run, its concordant pairs with runs of other groups, ties half; by group."""
    ordered, counts = [np.sort(group) for group in groups], []
    for k, values in enumerate(groups):
        own = np.zeros(len(values))
        for j, other in enumerate(ordered):
            below = np.searchsorted(other, values, "left") + np.searchsorted(other, values, "right")
            own += below / 2 if j < k else len(other) - below / 2 if j > k else 0.0
        counts.append(own)
    return counts


def _pairs(groups: tuple[int, ...]) -> int:
    """Pairs of runs of different groups."""
    return (sum(groups) ** 2 - sum(n**2 for n in groups)) // 2
