"""How often something is so: shares of runs, truths or tasks, with the seed as the unit.

What the tasks of a seed share (a data set, a world, a trained predictor), and the truths of one
run, are not so many independent trials. The interval is Clopper & Pearson's (1934) of as many
trials as the seeds are worth: Korn & Graubard (1998, Confidence intervals for proportions with
small expected number of positive counts estimated from survey data), who divide the trials by the
design effect. Where few seeds differ from the rest, that effect is not known, and seeds are trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import beta_quantile, t_quantile

FEW = 5
"""Seeds' worth of successes, or failures, below which the design effect is not estimated."""


@dataclass(frozen=True)
class Share:
    """A share of successes; see :class:`uqbench.claim.Measurement`.

    Attributes:
        estimate: the share.
        seeds: independent ones.
        units: of each seed, such as its tasks.
        variance: of the share, from those of the seeds.
        runs: that it is of.
    """

    estimate: float
    seeds: int
    units: int
    variance: float
    runs: int

    @classmethod
    def of(cls, successes: NDArray[np.float64], methods: int = 1) -> Share:
        """Of ``successes``, ``[seeds, units]``: 1, 0, or ½ of a tie, of so many methods' runs."""
        own = successes.mean(axis=1)
        variance = float(own.var(ddof=1)) / len(own) if len(own) > 1 else 0.0
        units = successes.shape[1]
        return cls(float(own.mean()), len(own), units, variance, methods * successes.size)

    def trials(self, alpha: float) -> float:
        """How many independent trials the seeds are worth."""
        share, everything = self.estimate, self.seeds * self.units
        if self.units == 1 or self.seeds * min(share, 1 - share) < FEW:
            return self.seeds
        effect = max(1.0, self.variance / (share * (1 - share) / (everything - 1)))
        quantiles = (t_quantile(1 - alpha / 2, n - 1) for n in (everything, self.seeds))
        return everything / effect * (next(quantiles) / next(quantiles)) ** 2

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """Clopper & Pearson's interval."""
        trials = self.trials(alpha) * (1.0 if seeds is None else seeds / self.seeds)
        successes, failures = trials * self.estimate, trials * (1 - self.estimate)
        low = beta_quantile(alpha / 2, successes, failures + 1) if successes else 0.0
        high = beta_quantile(1 - alpha / 2, successes + 1, failures) if failures else 1.0
        return low, high


def check_shares(seeds: int, threshold: float, comparisons: int) -> None:
    """Raise ``ValueError`` where so few seeds lie neither above nor below the threshold."""
    reach = (ALPHA / comparisons / 2) ** (1 / seeds)  # the lower bound where all succeed
    if reach <= threshold and 1 - reach >= threshold:
        raise ValueError(
            f"{seeds} seeds can never decide it: even if all succeed, or fail, the intervals of "
            f"{comparisons} comparison{'s'[: comparisons > 1]}, 95 % together, include {threshold}"
        )
