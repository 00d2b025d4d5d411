"""Correlation of runs that have a seed in common, found by permutation.

Methods that meet the same data set or world with a seed have runs that go together, and are to be
compared seed by seed; tasks that one trained network is scored on go together, too, and are one
observation. Whether they do is in the scores.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.claim import Paired
from uqbench.contract.seeding import derive_seed
from uqbench.statistics.levels import MINIMUM_SEEDS

PERMUTATIONS = 999
SURELY = 0.002
"""How rare a correlation is by chance where it is said."""


def correlation(columns: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """The mean correlation of columns by seed, and its one-sided p-value.

    Args:
        columns: of each method, ``[seeds, tasks]``, the same seeds in the same order; the
            correlation is that of two methods on a task, averaged over pairs and tasks. Cells
            whose runs are all equal do not count. Transposed, of each task ``[seeds, methods]``,
            it is that of two tasks of a method.

    Returns:
        Zero and one where there are no two columns that vary.
    """
    values = np.stack(columns)
    centered = values - values.mean(axis=1, keepdims=True)
    size = np.sqrt((centered**2).sum(axis=1, keepdims=True))
    unit = np.where(size > 1e-12 * np.abs(values).max(), centered / np.where(size, size, 1.0), 0.0)
    varying = (unit**2).sum(axis=1).round().sum(axis=0)  # columns of a task that vary
    pairs = float((varying * (varying - 1)).sum())
    if pairs == 0:
        return 0.0, 1.0
    generator = np.random.default_rng(derive_seed("pairing"))

    def mean(of: NDArray[np.float64]) -> float:
        return float(((of.sum(axis=0) ** 2).sum(axis=0) - varying).sum() / pairs)

    found = mean(unit)
    drawn = [mean(generator.permuted(unit, axis=1)) for _ in range(PERMUTATIONS)]
    return found, (1 + sum(one >= found - 1e-12 for one in drawn)) / (PERMUTATIONS + 1)


def pairing_note(scores: Sequence[NDArray[np.float64]], *, paired: Paired) -> str:
    """A sentence on runs of a seed that go together and are compared as if they did not.

    Args:
        scores: of each method, ``[seeds, tasks]``; those of fewer seeds than others do not count.
        paired: whether methods are compared seed by seed, and tasks of a seed are one.
    """
    seeds = max(map(len, scores))
    scores = [of for of in scores if len(of) == seeds]
    if paired == "seeds" or len({of.shape for of in scores}) != 1 or seeds < MINIMUM_SEEDS:
        return ""
    by_task = list(np.stack(scores).transpose(2, 1, 0))
    worlds = "they met the same worlds, compare them seed by seed (`paired`)"
    one = "one run has all of a seed's tasks, a seed is one observation (`units = 'seed'`)"
    found = ("Methods'", correlation(scores), worlds), ("Tasks'", correlation(by_task), one)
    return " ".join(
        f"{what} scores of a seed are correlated ({r:.2f}): if {then}."
        for what, (r, p), then in found[bool(paired) :]
        if p <= SURELY
    )
