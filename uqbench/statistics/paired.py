"""Methods that met the same worlds or data sets: differences seed by seed.

The unit is the seed with all its tasks: what the tasks of a seed share (a data set, a trained
predictor) never counts as several observations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.location import Location, Value, location

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PairedDifference:
    """The mean of the seeds' differences; see :class:`uqbench.claim.Measurement`.

    Attributes:
        of: the differences, averaged over tasks.
    """

    of: Location

    @classmethod
    def between(cls, first: Matrix, second: Matrix) -> PairedDifference:
        """Of two methods' ``[runs, tasks]``, with the same seeds in the same order."""
        return cls(location(first - second, "mean", clustered=True))

    @property
    def estimate(self) -> float:
        """The mean difference."""
        return self.of.value

    @property
    def runs(self) -> int:
        """Runs of both methods."""
        return 2 * self.of.runs

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Student's interval over seeds; None for too few seeds without spread."""
        return Value(self.of).interval(alpha, seeds)

    def p_value(self) -> float:
        """Student's two-sided p-value that there is none."""
        return Value(self.of).p_value()
