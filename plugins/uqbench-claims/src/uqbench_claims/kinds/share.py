"""``share``: how often something is so."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from uqbench.contract.claim import ClaimKind, Comparison, Evidence, Observations, Paired, Region
from uqbench.contract.wording import count
from uqbench.statistics import bounded
from uqbench.statistics.levels import ALPHA


@dataclass(frozen=True, kw_only=True)
class Share(ClaimKind):
    """In more than a share of the runs, a method is better than another.

    Attributes:
        method: whose runs.
        better_than: the method that it is better than on the same task with the same seed; of
            several, better than the best of them.
        above, below: instead: the number that its metric is above, or below.
        at_least: the share that must be exceeded.

    Source: Gaffke 2005
    """

    method: str
    better_than: str | tuple[str, ...] = ()
    above: float | None = None
    below: float | None = None
    at_least: float

    def __post_init__(self) -> None:
        if [bool(self.others), self.above is not None, self.below is not None].count(True) != 1:
            raise ValueError("expected either 'better_than', 'above' or 'below'")
        if not 0 < self.at_least < 1:
            raise ValueError(f"a share is above 0 and below 1, got {self.at_least}")
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

    def check_seeds(self, seeds: int, tasks: Sequence[str], *, paired: Paired) -> None:
        """Raise where so few runs are no evidence for or against any share."""
        check_shares(seeds, self.at_least, 1)

    def compare(self, observations: Observations) -> Evidence:
        """One comparison."""
        limit, sign = (self.above, 1.0) if self.below is None else (self.below, -1.0)
        if limit is None:
            own = observations.signed(self.method)
            other = np.max([observations.signed(name) for name in self.others], axis=0)
            about = f"{self.method} better than {', '.join(self.others)}"
        else:
            own, other = sign * observations.values(self.method), np.float64(sign * limit)
            side = "above" if self.below is None else "below"
            about = f"{self.metric} of {self.method} {side} {limit:g}"
        successes = (own > other) + 0.5 * (own == other)  # [runs, tasks]
        measured = bounded.share(successes, methods=len(self.named_methods))
        return Evidence((Comparison(about, "share of runs", measured, Region(self.at_least)),))


def check_shares(seeds: int, threshold: float, comparisons: int) -> None:
    """Raise ``ValueError`` where so few seeds lie neither above nor below the threshold."""
    reach = (ALPHA / comparisons / 2) ** (1 / seeds)  # the lower bound where all succeed
    if reach <= threshold and 1 - reach >= threshold:
        raise ValueError(
            f"{seeds} seeds can never decide it: even if all succeed, or fail, the intervals of "
            f"{count(comparisons, 'comparison')}, 95 % together, include {threshold}"
        )
