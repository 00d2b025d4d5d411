"""The spread of a statistic of very many seeds, without resampling.

Thousands of bootstrap resamples of thousands of runs take minutes for what the delete-a-group
jackknife (Kott 2001; Shao & Wu 1989 for quantiles, whose groups must be larger than √runs) says in
one pass: the statistic is computed once without each of thirty groups of seeds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uqbench.statistics.statistic import batched

MANY_SEEDS = 1_000
"""Above it boards and claims are computed without resampling: by normal theory, where runs that
many are normal enough."""

GROUPS = 30


def jackknife_variance(
    statistic: str, first: NDArray[np.float64], second: NDArray[np.float64] | None = None
) -> float:
    """Squared standard error of a statistic of ``[runs, tasks]``, or of the difference of two.

    Args:
        statistic: a name of :mod:`uqbench.statistics.statistic`.
        first: a seed's runs are left out on all tasks together.
        second: of the same seeds in the same order.
    """
    of = batched(statistic)
    found = []
    for group in range(GROUPS):
        kept = np.arange(len(first)) % GROUPS != group
        value = float(of(first[None, kept])[0])
        found.append(value if second is None else value - float(of(second[None, kept])[0]))
    return float(np.var(found) * (GROUPS - 1))
