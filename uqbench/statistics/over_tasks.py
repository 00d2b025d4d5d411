"""A statistic over tasks, each of which is one observation.

Runs that share a batch share its clock: their steps per second are one number, measured once, and
do not tell how far another measurement would lie. Each task is a measurement of its own, and the
spread between tasks is that of the measurement and of the tasks together: rather too much.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.statistics.location import Statistic, Value, location

MINIMUM_TASKS = 3
"""The fewest that have a spread worth the name."""


class OverTasks(Value):
    """A number of each task, taken together; see :class:`uqbench.claim.Measurement`."""

    @classmethod
    def of_runs(
        cls, by: Statistic, first: NDArray[np.float64], second: NDArray[np.float64] | None = None
    ) -> OverTasks:
        """The statistic of the tasks' means, or ratios of means, of runs ``[runs, tasks]`` each."""
        values, runs = first.mean(axis=0), first.size
        if second is not None:
            values, runs = values / second.mean(axis=0), runs + second.size
        return cls(replace(location(values[:, None], by), runs=runs))

    def interval(self, alpha: float, seeds: int | None = None) -> Interval | None:
        """Student's interval over tasks, whatever ``seeds`` is: more of them are no more tasks."""
        return super().interval(alpha)
