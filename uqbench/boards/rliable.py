"""``rliable.csv``: the aggregates with rliable's own intervals, as papers print them.

Percentile intervals of a stratified bootstrap with 50,000 resamples. With few runs they cover less
than they say; what to go by is ``leaderboard.csv``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from uqbench.boards.tables import Row, cells
from uqbench.seeding import derive_seed
from uqbench.statistics.aggregate import aggregate, probability_of_improvement
from uqbench.suites.suite import Suite

REPETITIONS = 50_000
CONFIDENCE = 0.95
STATISTICS = ("iqm", "median", "mean", "optimality_gap")


def rliable_rows(suite: Suite, scores: Mapping[str, NDArray[np.float64]]) -> list[Row]:
    """A row a method, from ``[runs, tasks]`` scores."""
    baseline = scores.get(suite.baseline)
    rows = []
    for method, matrix in scores.items():
        seed = derive_seed("bootstrap", suite.name, method)
        intervals = aggregate(matrix, seed=seed, repetitions=REPETITIONS, confidence=CONFIDENCE)
        row: Row = {"method": method}
        for name in STATISTICS:
            row |= cells(name, intervals[name])
        over = None
        if baseline is not None and method != suite.baseline:
            seed = derive_seed("bootstrap", suite.name, method, "improvement")
            over = probability_of_improvement(
                matrix, baseline, seed=seed, repetitions=REPETITIONS, confidence=CONFIDENCE
            )
        rows.append(row | cells(f"improvement_over_{suite.baseline}", over))
    return rows


def rliable_columns(suite: Suite) -> list[str]:
    """The columns of such rows; there are none where no method is fully scored."""
    names = [*STATISTICS, f"improvement_over_{suite.baseline}"]
    return ["method", *(f"{name}{end}" for name in names for end in ("", "_low", "_high"))]
