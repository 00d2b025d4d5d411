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


def jackknife_variance(statistic: str, values: NDArray[np.float64]) -> float:
    """Squared standard error of a statistic of ``[runs, tasks]``.

    Args:
        statistic: a name of :mod:`uqbench.statistics.statistic`.
        values: a seed's runs are left out on all tasks together.
    """
    of, group = batched(statistic), np.arange(len(values)) % GROUPS
    without = [float(of(values[None, group != number])[0]) for number in range(GROUPS)]
    return float(np.var(without) * (GROUPS - 1))
