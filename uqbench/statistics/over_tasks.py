"""A statistic over tasks, each of which is one observation.

Runs that share a batch share its clock: their steps per second are one number, measured once, and
do not tell how far another measurement would lie. Each task is a measurement of its own, and the
spread between tasks is that of the measurement and of the tasks together: rather too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.location import Location, Statistic, Value, location

MINIMUM_TASKS = 3
"""The fewest that have a spread worth the name."""


@dataclass(frozen=True)
class OverTasks:
    """A number of each task, taken together; see :class:`uqbench.claim.Measurement`."""

    of: Location
    runs: int

    @classmethod
    def values(cls, runs: NDArray[np.float64], by: Statistic) -> OverTasks:
        """The statistic of the tasks' means, of ``runs``, ``[runs, tasks]``."""
        return cls(location(runs.mean(axis=0)[:, None], by), runs.size)

    @classmethod
    def ratios(
        cls, first: NDArray[np.float64], second: NDArray[np.float64], by: Statistic
    ) -> OverTasks:
        """The statistic of the tasks' ratios of means, of runs ``[runs, tasks]`` of two methods."""
        ratios = first.mean(axis=0) / second.mean(axis=0)
        return cls(location(ratios[:, None], by), first.size + second.size)

    @property
    def estimate(self) -> float:
        """The statistic."""
        return self.of.value

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Student's interval over tasks, whatever ``seeds`` is: more of them are no more tasks."""
        return Value(self.of).interval(alpha)
