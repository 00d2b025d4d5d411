"""Methods that met the same worlds or data sets: differences seed by seed.

The unit is the seed with all its tasks: what the tasks of a seed share (a data set, a trained
predictor) never counts as several observations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.seeding import derive_seed
from uqbench.statistics.jackknife import GROUPS, MANY_SEEDS, jackknife_variance
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import t_quantile, t_tail
from uqbench.statistics.statistic import batched

Matrix = NDArray[np.float64]

DRAWS = 9_999
"""Swaps, or subsets, that are drawn where there are more; where not, all are taken."""
ALL_UP_TO = 13
"""Seeds whose swaps are all taken: 2¹³ = 8,192."""
BATCH_NUMBERS = 1_000_000


@dataclass(frozen=True)
class PairedDifference:
    """The mean of the seeds' differences; see :class:`uqbench.claim.Measurement`.

    The interval is the sign-flip test's: the means of all subsets of the differences cut the line
    into pieces that hold the true mean with equal probability, where differences are symmetric
    about it, however they spread (Hartigan 1969). It reaches as far as Student's, too; above a
    thousand seeds it is Student's.

    Attributes:
        differences: of the seeds, averaged over tasks.
        tasks: that were averaged over.
    """

    differences: tuple[float, ...]
    tasks: int

    @classmethod
    def of(cls, first: Matrix, second: Matrix) -> PairedDifference:
        """Of two methods' ``[runs, tasks]``, with the same seeds in the same order."""
        difference = first - second
        return cls(tuple(difference.mean(axis=1).tolist()), difference.shape[1])

    @property
    def estimate(self) -> float:
        """The mean difference."""
        return float(np.mean(self.differences))

    @property
    def runs(self) -> int:
        """Runs of both methods."""
        return 2 * len(self.differences) * self.tasks

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """None where there are too few seeds for any sign-flip test of that level."""
        n = len(self.differences) if seeds is None else seeds
        if least_p(n) > alpha:
            return None
        spread = float(np.std(self.differences, ddof=1)) if np.ptp(self.differences) else 0.0
        half = t_quantile(1 - alpha / 2, n - 1) * spread / math.sqrt(n)
        low, high = self.estimate - half, self.estimate + half
        if seeds is None and n <= MANY_SEEDS:
            # of 2^n − 1 subset means, floor(α/2 · 2^n) may lie outside on either side
            means = self._subset_means
            outside = math.floor(alpha / 2 * (len(means) + 1))
            low, high = min(low, float(means[outside - 1])), max(high, float(means[-outside]))
        return low, high

    @cached_property
    def _subset_means(self) -> NDArray[np.float64]:
        values = np.array(self.differences)
        chosen = _choices(len(values))
        chosen = chosen[chosen.any(axis=1)]
        return np.sort(chosen @ values / chosen.sum(axis=1))


def least_p(seeds: int) -> float:
    """The least two-sided p-value that the swap test can have."""
    return max(2.0 ** (1 - seeds), 2.0 / (DRAWS + 1))


def check_flips(seeds: int, comparisons: int) -> None:
    """Raise ``ValueError`` where no sign pattern of so few seeds is rare enough."""
    if least_p(seeds) > ALPHA / comparisons:
        raise ValueError(
            f"{seeds} seeds can never decide it: of {seeds} paired differences all of one sign are "
            f"not rare enough for {comparisons} comparison{'s'[: comparisons > 1]} at 95 % "
            f"together; state it with paired = false, or give the budget more seeds"
        )


def swap_test(first: Matrix, second: Matrix, statistic: str) -> float:
    """Two-sided p-value that two methods do not differ, given the seeds' worlds.

    If they do not, swapping their runs of any seeds, on all tasks of the seed, changes nothing: the
    difference of the statistic is compared with those after swaps (of means, sign flips).
    """
    of = batched(statistic)
    observed = abs(float((of(first[None]) - of(second[None]))[0]))
    if len(first) > MANY_SEEDS and (variance := jackknife_variance(statistic, first, second)):
        return 2 * t_tail(observed / math.sqrt(variance), GROUPS - 1)
    swaps = _choices(len(first))
    size = max(1, BATCH_NUMBERS // first.size)
    beyond = 0
    for start in range(0, len(swaps), size):
        swap = swaps[start : start + size, :, None]
        differences = of(np.where(swap, second, first)) - of(np.where(swap, first, second))
        beyond += int((np.abs(differences) >= observed * (1 - 1e-9)).sum())
    if len(first) <= ALL_UP_TO:
        return beyond / len(swaps)
    return (beyond + 1) / (len(swaps) + 1)  # Phipson & Smyth 2010


def _choices(n: int) -> NDArray[np.bool_]:
    """All subsets of ``n`` seeds, or as many as are drawn, ``[subsets, n]``."""
    if n <= ALL_UP_TO:
        return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    generator = np.random.default_rng(derive_seed("swaps"))
    return generator.random((DRAWS, n)) < 0.5
