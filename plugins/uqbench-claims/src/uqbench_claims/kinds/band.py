"""``band``: a number, or a ratio of two, within bounds."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import (
    CannotCompareError,
    Comparison,
    Evidence,
    Interval,
    Measurement,
    Observations,
    Paired,
    Region,
)
from uqbench.statistics.bounded import Apart, mean_of, scaled
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import Location, location
from uqbench_claims.kinds.per_task import TaskwiseKind, check_normalized
from uqbench_claims.kinds.ratio import Ratio

MINIMUM_TASKS = 3
"""The fewest that have a spread worth the name."""


@dataclass(frozen=True, kw_only=True)
class Band(TaskwiseKind):
    """The mean of a method's runs, or its ratio to another's, lies within bounds.

    Attributes:
        method: whose runs.
        ratio_to: the method, or methods, whose mean is divided by, one after the other.
        value: the published number, or one for each task, which are then looked at one by one.
        tolerance: how far from ``value`` it may lie.
        error: instead of ``tolerance``, where ``value`` is a table: the standard error of each
            number. It may lie ``2 √(error² + own²)`` away, with that of the runs' mean.
        low: instead of a ``value``: the lower bound; None for none.
        high: the upper bound; None for none.
        normalized: whether it is of scores instead of raw values.
        exact: whether the metric has no randomness, so that all of a method's runs on a task must
            be equal and their value is what it is.

    Source: Fieller 1954
    """

    method: str
    ratio_to: str | tuple[str, ...] = ()
    value: float | Mapping[str, float] | None = None
    tolerance: float | None = None
    error: Mapping[str, float] | None = None
    low: float | None = None
    high: float | None = None
    normalized: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.value, Mapping):
            if self.tasks not in (None, tuple(self.value)):
                raise ValueError("tasks: those of the table 'value' are taken; leave them out")
            object.__setattr__(self, "tasks", tuple(self.value))
            object.__setattr__(self, "per_task", True)
        super().__post_init__()
        bounded = self.low is not None or self.high is not None
        given = (self.tolerance is not None) + (self.error is not None)
        if (self.value is not None, given, bounded) not in ((True, 1, False), (False, 0, True)):
            raise ValueError("expected either value and tolerance or error, or low, high or both")
        if self.tolerance is not None and not self.tolerance > 0:
            raise ValueError(f"tolerance: expected a number above 0, got {self.tolerance}")
        if self.error and (self.tasks != tuple(self.error) or not min(self.error.values()) > 0):
            raise ValueError("error: expected a number above 0 for each task of the table 'value'")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"low = {self.low} must be below high = {self.high}")
        if self.method in self.denominators:
            raise ValueError(f"ratio_to: {self.method!r} is the method itself")

    @property
    def denominators(self) -> tuple[str, ...]:
        """The methods that are divided by."""
        return (self.ratio_to,) if isinstance(self.ratio_to, str) else self.ratio_to

    @property
    def named_methods(self) -> tuple[str, ...]:
        """The method, and those that are divided by."""
        return (self.method, *self.denominators)

    @property
    def published(self) -> bool:
        """Whether a published number is compared with, not only bounds."""
        return self.value is not None

    def region(self, task: str, measured: Measurement) -> Region:
        """The bounds, on a task where they differ."""
        value = self.value[task] if isinstance(self.value, Mapping) else self.value
        if value is None:
            return Region.between(self.low, self.high)
        low, high = measured.interval(ALPHA) or (value, value)
        away = self.tolerance or hypot(2 * (self.error or {})[task], (high - low) / 2)
        return Region(value - away, value + away)

    def check(self, tasks: Sequence[str], normalized: Container[str]) -> None:
        """Raise where scores are asked for that are not normalized."""
        super().check(tasks, normalized)
        if self.normalized:
            check_normalized(normalized, self.metric, tasks, "normalized = true")

    def compare(self, observations: Observations) -> Evidence:
        """One comparison a denominator, and a task if so asked."""
        comparisons = []
        for group, tasks in self.groups(observations.tasks):
            for other in self.denominators or (None,):
                about = self.method if other is None else f"{self.method} / {other}"
                statistic = "mean" if other is None else "ratio of mean"
                measured = self._measure(observations, other, tasks)
                region = self.region(group, measured)
                comparisons.append(Comparison(about, statistic, measured, region, group))
        return Evidence(tuple(comparisons), self.at_least)

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: Paired) -> None:
        """Raise with fewer seeds than any interval needs; an exact number needs none of it."""
        if seeds < MINIMUM_SEEDS:
            raise ValueError(f"{seeds} seeds can never decide it: {MINIMUM_SEEDS} are the least")

    def _measure(
        self, observations: Observations, other: str | None, tasks: Sequence[str]
    ) -> Measurement:
        values = observations.scores if self.normalized else observations.values
        first = values(self.method, tasks)
        second = None if other is None else values(other, tasks)
        if self.exact:
            return Exact.of(*(location(of, "mean") for of in (first, second) if of is not None))
        if observations.shared:
            if len(tasks) < MINIMUM_TASKS:
                raise CannotCompareError(
                    f"the runs of a batch share {self.metric}, so a task is one observation, and "
                    f"{len(tasks)} of the {MINIMUM_TASKS} are here that an interval needs"
                )
            return OverTasks.of_runs(first, second)
        normalizers = [observations.normalize[t] if self.normalized else float for t in tasks]
        ranges = scaled([observations.ranges.get(task) for task in tasks], normalizers)
        if ranges is not None:
            bounded = partial(mean_of, ranges=ranges, clustered=observations.paired == "seeds")
            mean = bounded(first)
            return mean if second is None else Apart(mean, bounded(second), ratio=True)
        own = location(first, "mean", clustered=observations.paired == "seeds")
        if second is None:
            return own
        return Ratio(own, location(second, "mean", clustered=observations.paired == "seeds"))


class OverTasks(Location):
    """A statistic over tasks, each of which is one observation.

    Runs that share a batch share its clock: their steps per second are one number, measured once,
    and do not tell how far another measurement would lie. Each task is a measurement of its own,
    and the spread between tasks is that of the measurement and of the tasks together: rather too
    much.
    """

    @classmethod
    def of_runs(
        cls, first: NDArray[np.float64], second: NDArray[np.float64] | None = None
    ) -> OverTasks:
        """The mean of the tasks' means, or ratios of means, of runs ``[runs, tasks]`` each."""
        values, runs = first.mean(axis=0), first.size
        if second is not None:
            values, runs = values / second.mean(axis=0), runs + second.size
        return cls(**vars(location(values[:, None], "mean")) | {"runs": runs})

    def with_seeds(self, seeds: int | None) -> Location:
        """Itself, whatever ``seeds`` is: more of them are no more tasks."""
        return self


@dataclass(frozen=True)
class Exact:
    """A number without randomness: equal in all runs; see :class:`uqbench.claim.Measurement`."""

    estimate: float
    runs: int

    @classmethod
    def of(cls, *runs: Location) -> Exact:
        """A value, or the ratio of two.

        Raises:
            CannotCompareError: the runs differ.
        """
        if any(of.variance for of in runs):
            raise CannotCompareError("declared exact, but its runs differ from seed to seed")
        measured = Ratio(*runs) if len(runs) == 2 else runs[0]
        return cls(measured.estimate, measured.runs)

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The number itself."""
        return self.estimate, self.estimate
