"""The ratio of two means of runs, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from uqbench.contract.claim import Interval
from uqbench.statistics.location import Location
from uqbench.statistics.quantiles import t_quantile


@dataclass(frozen=True)
class Ratio:
    """One statistic over another, of independent runs; see :class:`uqbench.claim.Measurement`."""

    first: Location
    second: Location

    @property
    def estimate(self) -> float:
        """The ratio; not a number over zero."""
        return self.first.estimate / self.second.estimate if self.second.estimate else math.nan

    @property
    def runs(self) -> int:
        """Runs of both."""
        return self.first.runs + self.second.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Every r with (a − r b)² ≤ t² (s²_a + r² s²_b), a's and b's squared errors (Fieller 1954).

        All numbers, where b may be zero; None for runs without variance.
        """
        first, second = self.first.with_seeds(seeds), self.second.with_seeds(seeds)
        if second.estimate == 0:
            return -math.inf, math.inf
        if first.variance + second.variance == 0:
            return None
        t = t_quantile(1 - alpha / 2, first.plus(-self.estimate, second).degrees)
        # A r² − 2 B r + C ≤ 0
        quadratic = second.estimate**2 - t**2 * second.variance
        linear = first.estimate * second.estimate
        constant = first.estimate**2 - t**2 * first.variance
        if quadratic <= 0:
            return -math.inf, math.inf
        half = math.sqrt(max(0.0, linear**2 - quadratic * constant))
        return (linear - half) / quadratic, (linear + half) / quadratic
