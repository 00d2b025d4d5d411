"""Ranks as sets: what the differences of all pairs of methods say, together at 95 %.

A method's place lies between one plus the number of methods that are better than it and the number
of those that it is not better than. Each difference is tested, the p-values are adjusted for the
number of pairs (Holm 1979), and those below 5 % count: with probability 95 % all methods' true
places lie in their sets at once (Mogstad, Romano, Shaikh & Wilhelm 2024, Inference for ranks,
with Holm's procedure in place of the bootstrap).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from uqbench.statistics.bounded import BoundedDifference, BoundedMean
from uqbench.statistics.estimate import Estimate, Failures, improvement
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import Difference, Location, location
from uqbench.statistics.paired import PairedDifference
from uqbench.statistics.statistic import point

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two methods of a board, compared.

    Attributes:
        improvement: probability that a run of the first beats one of the second.
        difference: of the ranking statistic of the scores, of independent runs (Welch).
        paired: mean difference of the scores, seed by seed.
        p: of the difference, two-sided; None with fewer than three seeds.
        adjusted: by Holm's procedure over all pairs of ranked methods of the board.
    """

    first: str
    second: str
    improvement: Estimate
    difference: Estimate
    paired: Estimate
    p: float | None
    adjusted: float | None = None


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
    paired: bool,
    unranked: Container[str] = (),
    failures: Failures | None = None,
) -> tuple[Pair, ...]:
    """All pairs of methods, by their ``[runs, tasks]`` scores.

    Args:
        scores: by method, with the same tasks, and the same seeds in the same order.
        statistic: that ranks.
        paired: whether seeds with all their tasks are the unit: means are compared seed by seed.
        unranked: rows that take no part in the ranking: pairs with one of them have no adjusted
            p-value, and do not raise those of the others.
        failures: of the metric, where its runs may fail: means are compared by their bounded
            intervals then, and not at all where its range is not known.
    """
    few = min(map(len, scores.values()), default=0) < MINIMUM_SEEDS
    known = {} if few else {name: _of(m, statistic, paired, failures) for name, m in scores.items()}
    pairs = []
    for first, second in combinations(sorted(scores), 2):
        a, b = scores[first], scores[second]
        difference = Estimate(point(statistic, a) - point(statistic, b), None, None)
        by_seed = Estimate(float(a.mean() - b.mean()), None, None)
        p = None
        if not few:
            matched = PairedDifference.between(a, b) if len(a) == len(b) else None
            if matched is not None:
                by_seed = Estimate.around(matched.estimate, matched.interval(ALPHA))
            measured = _difference(known[first], known[second])
            if measured is not None:
                difference = Estimate.around(difference.value, measured.interval(ALPHA))
                seedwise = paired and statistic == "mean" and failures is None
                p = (matched if seedwise and matched is not None else measured).p_value()
        pairs.append(Pair(first, second, improvement(a, b), difference, by_seed, p))
    ranked = [pair.first not in unranked and pair.second not in unranked for pair in pairs]
    return tuple(_adjusted(pairs, ranked))


def decidable(seeds: int, methods: int, failures: Failures) -> bool:
    """Whether any runs that may fail could tell two of so many methods apart.

    A t test can always, and the intervals of bounded means only with enough seeds.
    """
    if failures.bounds is None:
        return False
    ends = (BoundedMean((end,) * seeds, failures.bounds, 1) for end in failures.bounds)
    pairs = methods * (methods - 1) // 2
    return BoundedDifference(*ends).p_value() <= ALPHA / max(1, pairs)


def _of(
    matrix: Matrix, statistic: str, clustered: bool, failures: Failures | None
) -> Location | BoundedMean | None:
    """What is known of a method's statistic; None for nothing."""
    if failures is None or statistic != "mean":
        return location(matrix, statistic, clustered=clustered)
    return None if failures.bounds is None else BoundedMean.of(matrix, failures.bounds)


def _difference(
    first: Location | BoundedMean | None, second: Location | BoundedMean | None
) -> Difference | BoundedDifference | None:
    if isinstance(first, Location) and isinstance(second, Location):
        return Difference(first, second)
    if isinstance(first, BoundedMean) and isinstance(second, BoundedMean):
        return BoundedDifference(first, second)
    return None


def places(scores: Mapping[str, Matrix], pairs: Sequence[Pair], statistic: str) -> dict[str, Place]:
    """Each method's place by the ranking statistic (more is better) and its rank set.

    Args:
        scores: of the methods that are ranked.
        pairs: those with another method do not count.
        statistic: that ranks.
    """
    values = {name: point(statistic, matrix) for name, matrix in scores.items()}
    ordered = sorted(values, key=lambda name: (-values[name], name))
    better = dict.fromkeys(values, 0)  # methods that are surely better than it
    worse = dict.fromkeys(values, 0)
    for pair in pairs:
        if (
            {pair.first, pair.second} <= values.keys()
            and pair.adjusted is not None
            and pair.adjusted <= ALPHA
        ):
            winner, loser = pair.first, pair.second
            if values[winner] < values[loser]:
                winner, loser = loser, winner
            better[loser] += 1
            worse[winner] += 1
    return {
        name: Place(rank, 1 + better[name], len(ordered) - worse[name])
        for rank, name in enumerate(ordered, start=1)
    }


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down: p-values that may be held against 5 % each, in their order."""
    adjusted = [0.0] * len(p)
    least = 0.0
    for place, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        least = max(least, min(1.0, (len(p) - place) * p[i]))
        adjusted[i] = least
    return adjusted


def _adjusted(pairs: Sequence[Pair], ranked: Sequence[bool]) -> list[Pair]:
    known = {i: pair.p for i, pair in enumerate(pairs) if ranked[i] and pair.p is not None}
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    return [replace(pair, adjusted=adjusted.get(i)) for i, pair in enumerate(pairs)]
