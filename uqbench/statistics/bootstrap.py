"""Stratified bootstrap with an explicit generator, in batches.

The estimator is rliable's (Agarwal et al. 2021, Deep RL at the Edge of the Statistical Precipice):
the runs of every task are resampled with replacement, independently of the other tasks. rliable
1.2.0 draws its indices from the global ``np.random`` and ignores ``random_state``, so its
intervals cannot be reproduced; here every index comes from the generator that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rliable import library

RESAMPLES = 2_000
BATCH_NUMBERS = 200_000
"""Numbers in one batch of resamples: bounds the memory, changes no result."""


class SeededStratifiedBootstrap(library.StratifiedBootstrap):  # type: ignore[misc]  # no stubs
    """rliable's stratified bootstrap of one ``[runs, tasks]`` matrix, drawn from ``generator``.

    What is inherited (``bootstrap``, ``conf_int``) is seeded too, and visits the same resamples
    in the same order as :meth:`batches`.
    """

    def __init__(self, scores: NDArray[np.float64], generator: np.random.Generator) -> None:
        super().__init__(scores, seed=generator)
        self.scores = scores

    def update_indices(self) -> tuple[NDArray[np.int64], ...]:
        """The index of the next resample, which rliable draws from the global state."""
        return (self._draw(), *self._strata_indices)

    def draws(self, repetitions: int, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of the runs in ``repetitions`` resamples, as ``[R, runs, tasks]``.

        ``R`` is at most ``size``, which bounds the memory; the resamples do not depend on it.
        """
        for start in range(0, repetitions, size):
            yield self._draw(min(size, repetitions - start))

    def batches(self, repetitions: int, size: int) -> Iterator[NDArray[np.float64]]:
        """Yield the scores of the runs in :meth:`draws`, as ``[R, runs, tasks]``."""
        for runs in self.draws(repetitions, size):
            yield self.scores[(runs, *self._strata_indices)]

    def _draw(self, *resamples: int) -> NDArray[np.int64]:
        # 64-bit draws, the default: narrower ones drop buffered random bits at the end of each
        # call, and the resamples would then depend on how they are split into batches.
        size = (*resamples, *self.scores.shape)
        runs: NDArray[np.int64] = self.generator.integers(len(self.scores), size=size)
        return runs


def replicates(
    statistic: Callable[[NDArray[Any]], NDArray[np.float64]],
    values: NDArray[Any],
    generator: np.random.Generator,
    *,
    clustered: bool = False,
) -> NDArray[np.float64]:
    """A statistic of resamples of ``values``, ``[runs, tasks, *]``: :data:`RESAMPLES` of them.

    Where ``clustered``, seeds are resampled with all their tasks.
    """
    runs, tasks = values.shape[:2]
    strata = SeededStratifiedBootstrap(np.empty((runs, 1 if clustered else tasks)), generator)
    size = max(1, BATCH_NUMBERS // values.size)
    return np.concatenate([
        statistic(values[drawn, np.arange(tasks)]) for drawn in strata.draws(RESAMPLES, size)
    ])  # fmt: skip
