"""``share``: how often something is so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import ClaimKind, Comparison, Evidence, Observations, Region
from uqbench.statistics.proportion import Proportion, check_trials


@dataclass(frozen=True, kw_only=True)
class Share(ClaimKind):
    """In more (or less) than a share of the runs, or tasks, a method is better than another.

    Attributes:
        method: whose runs.
        better_than: the method that it is better than on the same task with the same seed; of
            several, better than the best of them.
        above: instead: the number that its metric is above.
        below: instead: the number that its metric is below.
        at_least: the share that must be exceeded.
        at_most: instead: the share that must not be reached.
        of: ``runs``, or ``tasks`` by the means over their runs, as a sample of such tasks.
    """

    method: str
    better_than: str | tuple[str, ...] = ()
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    of: Literal["runs", "tasks"] = "runs"

    def __post_init__(self) -> None:
        given = [bool(self.others), self.above is not None, self.below is not None]
        if sum(given) != 1:
            raise ValueError("expected one of 'better_than', 'above' and 'below'")
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("expected one of 'at_least' and 'at_most'")
        share = self.at_least if self.at_most is None else self.at_most
        if share is None or not 0 < share < 1:
            raise ValueError(f"a share is above 0 and below 1, got {share}")
        if self.method in self.others:
            raise ValueError(f"better_than: {self.method!r} is the method itself")

    @property
    def others(self) -> tuple[str, ...]:
        """The methods that it is compared with."""
        return (self.better_than,) if isinstance(self.better_than, str) else self.better_than

    @property
    def named_methods(self) -> tuple[str, ...]:
        """The method, and those that it is compared with."""
        return (self.method, *self.others)

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: bool) -> None:
        """Raise where so few runs, or tasks, are no evidence for or against any share."""
        trials = len(tasks) * (seeds if self.of == "runs" else 1)
        check_trials(trials, float(self.at_least or self.at_most or 0.0), 1)

    def compare(self, observations: Observations) -> Evidence:
        """One comparison."""
        own, other = self._sides(observations)
        successes = (own > other) + 0.5 * (own == other)  # [runs, tasks], or [tasks]
        measured = Proportion(
            successes=float(successes.sum()),
            trials=successes.size,
            runs=sum(observations.values(name).size for name in self.named_methods),
            seeds=len(own) if self.of == "runs" else None,
        )
        region = Region.between(self.at_least, self.at_most)
        return Evidence((Comparison(self._about(), f"share of {self.of}", measured, region),))

    def _sides(self, observations: Observations) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What must be above what, ``[runs, tasks]`` or ``[tasks]``."""
        if self.others:
            own = self._units(observations.goodness(self.method))
            others = [self._units(observations.goodness(name)) for name in self.others]
            return own, np.max(others, axis=0)
        own = self._units(observations.values(self.method))
        if self.above is not None:
            return own, np.full_like(own, self.above)
        return np.full_like(own, self.below), own

    def _units(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self.of == "runs" else values.mean(axis=0)

    def _about(self) -> str:
        if self.others:
            return f"{self.method} better than {', '.join(self.others)}"
        if self.above is not None:
            return f"{self.metric} of {self.method} above {self.above:g}"
        return f"{self.metric} of {self.method} below {self.below:g}"
