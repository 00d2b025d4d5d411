"""Ranks as sets, read off simultaneous intervals of the differences of all pairs of methods.

Each pair has its own interval (:mod:`uqbench.statistics.location`; of runs that may fail, and of
shares, :mod:`uqbench.statistics.bounded`) at the level 1 − 0.05/pairs, so that all of them hold
together with 95 %, however the pairs go together (Bonferroni). Baselines are
compared with each method, too, and count among the pairs. Two methods differ where their interval
leaves out zero: then, and only then, the adjusted p-value, the pair's own times the number of
pairs, is at most 0.05. A method's best possible rank is 1 + the number of methods that are better,
its worst the number of methods that it is not better than: with probability 95 % all methods' true
places lie in their sets at once (Mogstad, Romano, Shaikh & Wilhelm 2024, Inference for ranks). A
method may be first where its set begins at 1. ``benchmarks/pair_intervals.csv`` has how often some
pair of equal methods is told apart.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Paired
from uqbench.statistics.bounded import Apart, Ranges, difference
from uqbench.statistics.estimate import Estimate, improvement
from uqbench.statistics.levels import MINIMUM_SEEDS
from uqbench.statistics.location import Location, location, paired_difference
from uqbench.statistics.statistic import point

Matrix = NDArray[np.float64]
Measured = Location | Apart
Names = tuple[str, str]


@dataclass(frozen=True)
class Pair:
    """Two methods of a board, compared.

    Attributes:
        improvement: probability that a run of the first beats one of the second.
        difference: of the ranking statistic of the scores; seed by seed in a paired suite.
        p: of the difference, two-sided; None with fewer than three seeds, or without variance.
        adjusted: p for all pairs that are compared together, at which level both intervals are
            then; None of other pairs, whose intervals have 95 % each.
    """

    first: str
    second: str
    improvement: Estimate
    difference: Estimate
    p: float | None
    adjusted: float | None = None

    def better(self, name: str) -> bool:
        """Whether that one of the two is better, as far as the interval says."""
        low, high = self.difference.low or 0.0, self.difference.high or 0.0
        return low > 0 if name == self.first else high < 0


@dataclass(frozen=True)
class Place:
    """A method's place by the point estimates, and the places that the runs leave it."""

    rank: int
    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def compare(
    scores: Mapping[str, Matrix],
    statistic: str,
    *,
    paired: Paired,
    baselines: Container[str] = (),
    unranked: Container[str] = (),
    ranges: Ranges | None = None,
) -> tuple[Pair, ...]:
    """All pairs of methods, by their ``[runs, tasks]`` scores.

    Args:
        scores: by method, with the same tasks; as many runs are of the same seeds in the same
            order. A pair's statistics are those of its own runs, however many others have.
        statistic: that ranks.
        paired: whether runs, or seeds with all their tasks, are compared one by one.
        baselines: rows that are compared with methods and not with one another.
        unranked: other rows that take no part: pairs with one have no adjusted p-value.
        ranges: of the metric on each task, where its runs may fail.
    """
    measured, found = measure(scores, statistic, ranges, paired=paired), list[Pair]()
    seeds = {names: min(len(scores[name]) for name in names) for names in measured}
    enough = (names for names, number in seeds.items() if number >= MINIMUM_SEEDS)
    family = together(enough, baselines, unranked)
    for (first, second), of in measured.items():
        pairs = len(family) if (first, second) in family else None
        apart = Estimate.of(of, seeds[first, second], pairs or 1)
        p = None if apart.low is None else of.p_value()
        adjusted = None if pairs is None or p is None else min(1.0, pairs * p)
        better = improvement(scores[first], scores[second], pairs or 1)
        found.append(Pair(first, second, better, apart, p, adjusted))
    return tuple(found)


def together(
    pairs: Iterable[Names], baselines: Container[str] = (), unranked: Container[str] = ()
) -> set[Names]:
    """The pairs whose intervals hold together: of methods, and of methods with baselines."""
    return {
        (a, b)
        for a, b in pairs
        if not (a in unranked or b in unranked or (a in baselines and b in baselines))
    }


def places(scores: Mapping[str, Matrix], pairs: Sequence[Pair], statistic: str) -> dict[str, Place]:
    """Each method's place by the ranking statistic (more is better) and its rank set.

    A single method has none, nor has one with fewer than three runs a task beside others with more:
    of it nothing can be told, and theirs stay as they are.

    Args:
        scores: of the methods that are ranked.
        pairs: those with another method do not count.
        statistic: that ranks.
    """
    enough = {name: of for name, of in scores.items() if len(of) >= MINIMUM_SEEDS} or scores
    values = {name: point(statistic, matrix) for name, matrix in enough.items()}
    ordered = sorted(values, key=lambda name: (-values[name], name))
    ways = ((a, b, one) for one in pairs for a, b in permutations((one.first, one.second)))
    apart = [(a, b) for a, b, one in ways if a in values and b in values and one.better(a)]
    wins, losses = (Counter(names[side] for names in apart) for side in (0, 1))
    return {
        name: Place(rank, 1 + losses[name], len(ordered) - wins[name])
        for rank, name in enumerate(ordered, start=1)
        if len(ordered) > 1
    }


def measure(
    scores: Mapping[str, Matrix], statistic: str, ranges: Ranges | None, *, paired: Paired
) -> dict[Names, Measured]:
    """The differences of all pairs; where ``paired``, one by one of two with as many runs."""
    known = cache(lambda name: location(scores[name], statistic))

    def apart(a: str, b: str) -> Measured:
        alike = paired if len(scores[a]) == len(scores[b]) else ""
        if ranges is not None and all(ranges) and statistic == "mean":
            return difference(scores[a], scores[b], ranges, alike)
        if alike:
            return paired_difference(scores[a], scores[b], statistic, alike)
        return known(a).plus(-1.0, known(b))

    return {names: apart(*names) for names in combinations(sorted(scores), 2)}
