"""A share of runs or tasks, with Clopper & Pearson's binomial interval (1934).

The interval covers at least at its level at any number of trials. A trial that is half a success
(a tie, or a seed that succeeds on half of its tasks) spreads less than one that is a success or
none, so that the level is kept however the tasks of a seed go together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import beta_quantile


@dataclass(frozen=True)
class Proportion:
    """A share of successes; see :class:`uqbench.claim.Measurement`.

    Attributes:
        successes: whole and half ones.
        trials: how many were made.
        runs: that they were made of.
        seeds: of each task, where more seeds are more trials; None where they are not.
    """

    successes: float
    trials: int
    runs: int
    seeds: int | None

    @classmethod
    def of_seeds(cls, successes: NDArray[np.float64], methods: int) -> Proportion:
        """Of ``[runs, tasks]``: a seed with all its tasks is a trial, and may be half a success."""
        shares = successes.mean(axis=1)
        return cls(float(shares.sum()), len(shares), methods * successes.size, len(shares))

    @property
    def estimate(self) -> float:
        """The share."""
        return self.successes / self.trials

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """Clopper & Pearson's interval."""
        factor = 1.0 if seeds is None or self.seeds is None else seeds / self.seeds
        successes, failures = (
            self.successes * factor,
            (self.trials - self.successes) * factor,
        )
        low = beta_quantile(alpha / 2, successes, failures + 1) if successes else 0.0
        high = beta_quantile(1 - alpha / 2, successes + 1, failures) if failures else 1.0
        return low, high


def check_trials(trials: int, threshold: float, comparisons: int) -> None:
    """Raise ``ValueError`` where so few trials lie neither above nor below the threshold."""
    reach = (ALPHA / comparisons / 2) ** (1 / trials)  # the lower bound where all succeed
    if reach <= threshold and 1 - reach >= threshold:
        raise ValueError(
            f"{trials} trials can never decide it: even if all succeed, or fail, the intervals of "
            f"{comparisons} comparison{'s'[: comparisons > 1]}, 95 % together, include {threshold}"
        )
