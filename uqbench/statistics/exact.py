"""Numbers without randomness: equal in all runs, they are what they are."""

from __future__ import annotations

from dataclasses import dataclass

from uqbench.claim import CannotCompareError, Interval
from uqbench.statistics.location import Location, Ratio, Value


@dataclass(frozen=True)
class Exact:
    """A statistic of runs that do not differ; see :class:`uqbench.claim.Measurement`."""

    estimate: float
    runs: int

    @classmethod
    def of(cls, first: Location, second: Location | None) -> Exact:
        """A value, or the ratio of two.

        Raises:
            CannotCompareError: the runs differ.
        """
        parts = [first] if second is None else [first, second]
        if any(part.variance for part in parts):
            raise CannotCompareError("declared exact, but its runs differ from seed to seed")
        measured = Value(first) if second is None else Ratio(first, second)
        return cls(measured.estimate, measured.runs)

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """The number itself."""
        return self.estimate, self.estimate
