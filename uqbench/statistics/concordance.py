"""How often the better group's run is the better one, with an interval that few runs can carry.

Groups of runs have an order, say "qr-dqn, then ua-dqn". The *concordance* is the probability that
of two runs of different groups on the same task the one of the later group has the greater value,
a tie counting half, averaged over tasks. For two groups it is rliable's probability of improvement
(Mann & Whitney's statistic as a share of the pairs), for more Jonckheere & Terpstra's.

Percentile bootstrap intervals are too narrow with few runs. The interval here holds every θ with

    |θ̂ − θ| ≤ c · √max(v(θ), ŝ²),

- v(θ) = 4θ(1 − θ) v₀, with v₀ the variance of θ̂ where all runs are exchangeable, exact without
  ties: a score interval, which stays inside [0, 1] and does not shrink to a point where all pairs
  agree;
- ŝ², the variance estimated from the runs' own shares of concordant pairs (DeLong et al. 1988;
  Brunner & Munzel 2000 for two groups): larger than v(θ) where the groups' spreads differ;
- c, the larger of the normal quantile and that of |θ̂ − ½| / √max(v₀, ŝ²) over the permutations of
  the runs within each task, where a group has fewer than a hundred. So ½ lies outside only where
  the permutation test rejects that the groups do not differ, whose error rate is exact at any
  number of runs, with ties too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from uqbench.claim import Interval
from uqbench.seeding import derive_seed
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import normal_quantile

PERMUTATIONS = 9_999
"""How many are drawn where there are more; where not, all are taken."""

PERMUTED_BELOW = 100
"""Runs in the smallest group from which on the normal quantile is taken: the two agree there."""

BATCH_NUMBERS = 1_000_000
"""Numbers in one batch of permutations: bounds the memory, changes no result."""

Sizes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Layout:
    """What the permutation distribution depends on; the order of tasks is not.

    Attributes:
        sizes: runs of each group, by task.
        ties: how many runs share each value, in ascending order of values, by task.
    """

    sizes: Sizes
    ties: Sizes


@dataclass(frozen=True)
class Concordance:
    """The concordance of groups of runs.

    Attributes:
        estimate: θ̂.
        variance: ŝ².
        layout: numbers of runs and ties.
    """

    estimate: float
    variance: float
    layout: _Layout

    @property
    def runs(self) -> int:
        """Runs of all groups and tasks."""
        return sum(map(sum, self.layout.sizes))

    def interval(self, alpha: float, seeds: int | None = None) -> Interval:
        """See :class:`uqbench.claim.Measurement`; never None, since a share has known extremes."""
        sizes, variance = self.layout.sizes, self.variance
        quantile = normal_quantile(1 - alpha / 2)
        if seeds is None:
            if min(map(min, sizes)) < PERMUTED_BELOW:
                quantile = max(quantile, permutation_quantile(self.layout, alpha))
            if math.isinf(quantile):
                return 0.0, 1.0
        else:
            variance *= min(map(min, sizes)) / seeds
            sizes = tuple((seeds,) * len(groups) for groups in sizes)
        # (θ̂ − θ)² ≤ c² · 4θ(1 − θ) v₀ is Wilson's interval of 1 / 4v₀ trials
        trials = 1 / (4 * exchangeable_variance(sizes))
        spread = quantile**2 / trials
        center = (self.estimate + spread / 2) / (1 + spread)
        half = math.sqrt(
            spread * self.estimate * (1 - self.estimate) + spread**2 / 4
        ) / (1 + spread)  # fmt: skip
        studentized = quantile * math.sqrt(variance)
        return (
            max(0.0, min(center - half, self.estimate - studentized)),
            min(1.0, max(center + half, self.estimate + studentized)),
        )


def concordance(tasks: Sequence[Sequence[NDArray[np.float64]]]) -> Concordance:
    """The concordance of ordered groups: for each task, for each group, the values ``[runs]``."""
    sizes = tuple(tuple(len(group) for group in groups) for groups in tasks)
    pooled = [np.concatenate(groups) for groups in tasks]
    labels = [
        np.repeat(np.arange(len(groups)), groups)[np.argsort(values, kind="stable")][None]
        for groups, values in zip(sizes, pooled, strict=True)
    ]
    ties = tuple(
        tuple(int(n) for n in np.unique(values, return_counts=True)[1]) for values in pooled
    )
    estimate, variance = _moments(labels, _Layout(sizes, ties))
    sizes, ties = zip(*sorted(zip(sizes, ties, strict=True)), strict=True)
    return Concordance(float(estimate[0]), float(variance[0]), _Layout(sizes, ties))


def check_permutations(seeds: int, tasks: int, comparisons: int) -> None:
    """Raise ``ValueError`` where no comparison of two groups of ``seeds`` runs can be decided.

    With that many comparisons the first to be decided needs a level of ``ALPHA / comparisons``; the
    least p-value is that of the arrangements in which all runs of one group are above the other's.
    """
    arrangements = math.comb(2 * seeds, seeds) ** tasks
    # where permutations are drawn, the runs as they are count as one more
    least = 2 / arrangements if arrangements <= PERMUTATIONS else 1 / (PERMUTATIONS + 1)
    if least > ALPHA / comparisons:
        raise ValueError(
            f"{seeds} seeds can never decide it: {comparisons} comparison"
            f"{'s'[: comparisons > 1]} of {seeds} runs with {seeds} on {tasks} task"
            f"{'s'[: tasks > 1]} at 95 % together; state it by = 'mean', or of fewer methods or "
            f"tasks, or give the budget more seeds"
        )


def exchangeable_variance(sizes: Sizes) -> float:
    """v₀: variance of θ̂ where runs of a task are equally distributed, no ties (Jonckheere 1954)."""
    return sum(map(_task_variance, sizes)) / len(sizes) ** 2


def _task_variance(groups: tuple[int, ...]) -> float:
    total = sum(groups)
    ordered = total**2 * (2 * total + 3) - sum(n**2 * (2 * n + 3) for n in groups)
    return ordered / 72 / _pairs(groups) ** 2


def permutation_quantile(layout: _Layout, alpha: float) -> float:
    """The least value that at most ``alpha`` of the permutations' statistics are above."""
    statistics = _permuted(layout)
    return float(statistics[-1 - math.floor(alpha * len(statistics))])


@lru_cache(maxsize=256)
def _permuted(layout: _Layout) -> NDArray[np.float64]:
    """|θ̂ − ½| / √max(v₀, ŝ²) of the permutations of the runs within tasks, ascending.

    Where permutations are drawn, the runs as they are count as one more, above all: so the test's
    error rate stays below its level however few are drawn (Phipson & Smyth 2010).
    """
    least = exchangeable_variance(layout.sizes)
    found = [] if _are_few(layout.sizes) else [np.array([math.inf])]
    for labels in _permutations(layout.sizes):
        estimate, variance = _moments(labels, layout)
        found.append(np.abs(estimate - 0.5) / np.sqrt(np.maximum(least, variance)))
    # A trifle more, so that what is equal but for the order of sums does not count as above.
    return np.sort(np.concatenate(found)) * (1 + 1e-9)


def _permutations(sizes: Sizes) -> Iterator[list[NDArray[np.int64]]]:
    """Group of each run in the order of values, ``[permutations, runs]`` for each task."""
    if _are_few(sizes):
        whole = [np.array(list(_arrangements(groups))) for groups in sizes]
        index = np.array(list(product(*(range(len(labels)) for labels in whole))))
        yield [labels[index[:, task]] for task, labels in enumerate(whole)]
        return
    generator = np.random.default_rng(derive_seed("permutations"))
    size = max(1, BATCH_NUMBERS // sum(sum(groups) * len(groups) for groups in sizes))
    for start in range(0, PERMUTATIONS, size):
        drawn = min(size, PERMUTATIONS - start)
        yield [
            generator.permuted(np.tile(np.repeat(np.arange(len(g)), g), (drawn, 1)), axis=1)
            for g in sizes
        ]


def _are_few(sizes: Sizes) -> bool:
    """Whether all arrangements of the runs' groups are taken, not a sample of them."""
    orders = (
        math.factorial(sum(groups)) // math.prod(map(math.factorial, groups)) for groups in sizes
    )
    return math.prod(orders) <= PERMUTATIONS


def _arrangements(groups: tuple[int, ...]) -> Iterator[list[int]]:
    """All distinct orders of the runs' groups."""
    first, *others = groups
    if not others:
        yield [0] * first
        return
    for rest in _arrangements(tuple(others)):
        for places in combinations(range(sum(groups)), first):
            labels, left = [0] * sum(groups), iter(rest)
            taken = set(places)
            for place in range(sum(groups)):
                if place not in taken:
                    labels[place] = next(left) + 1
            yield labels


def _moments(
    labels: Sequence[NDArray[np.int64]], layout: _Layout
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """θ̂ and ŝ², each ``[B]``, from the runs' groups in the order of values, ``[B, runs]`` a task.

    ŝ² is zero in a group of one run, whose spread is not known.
    """
    estimates, variances = [], []
    for task, of in enumerate(labels):
        groups, pairs = layout.sizes[task], _pairs(layout.sizes[task])
        own = _concordant(of, groups, layout.ties[task])
        estimates.append(own.sum(1) / 2 / pairs)
        variance = np.zeros(len(of))
        for group, n in enumerate(groups):
            if n > 1:
                mine = own[of == group].reshape(len(of), n)
                variance += n * mine.var(axis=1, ddof=1) / pairs**2
        variances.append(variance)
    return np.mean(estimates, axis=0), np.sum(variances, axis=0) / len(labels) ** 2


def _concordant(
    labels: NDArray[np.int64], groups: tuple[int, ...], ties: tuple[int, ...]
) -> NDArray[np.float64]:
    """For each run, its concordant pairs with runs of other groups, ties half; ``[B, runs]``."""
    ends = np.repeat(np.cumsum(ties), ties)
    starts = ends - np.repeat(ties, ties)
    own = np.zeros(labels.shape)
    for group, n in enumerate(groups):
        counted = np.zeros((len(labels), labels.shape[1] + 1))
        np.cumsum(labels == group, axis=1, out=counted[:, 1:])
        below = (counted[:, starts] + counted[:, ends]) / 2
        own += np.where(labels > group, below, np.where(labels < group, n - below, 0.0))
    return own


def _pairs(groups: tuple[int, ...]) -> int:
    """Pairs of runs of different groups."""
    return (sum(groups) ** 2 - sum(n**2 for n in groups)) // 2
