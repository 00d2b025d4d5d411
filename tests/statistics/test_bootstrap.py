"""The bootstrap is rliable's, stratified by task, but drawn from the generator it is given."""

# ruff: noqa: NPY002 -- the legacy global state is what rliable uses and what we must not touch

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.typing import NDArray
from rliable import library, metrics
from scipy import stats

from uqbench.statistics.bootstrap import SeededStratifiedBootstrap


def bootstrap(scores: NDArray[np.float64], seed: int = 0) -> SeededStratifiedBootstrap:
    return SeededStratifiedBootstrap(scores, np.random.default_rng(seed))


def run_numbers(runs: int, tasks: int) -> NDArray[np.float64]:
    """A matrix in which every score is the number of its run."""
    return np.tile(np.arange(runs, dtype=np.float64)[:, None], tasks)


def test_is_rliables_class() -> None:
    assert issubclass(SeededStratifiedBootstrap, library.StratifiedBootstrap)


def test_scores_stay_in_their_task() -> None:
    scores = 100.0 * np.arange(4) + run_numbers(6, 4)  # the hundreds name the task
    (batch,) = bootstrap(scores).batches(50, size=50)
    assert batch.shape == (50, 6, 4)
    np.testing.assert_array_equal(batch // 100, np.broadcast_to(np.arange(4), batch.shape))


def test_draws_name_the_runs_in_the_batches() -> None:
    scores = run_numbers(7, 3)
    (runs,) = bootstrap(scores).draws(20, size=20)
    (batch,) = bootstrap(scores).batches(20, size=20)
    np.testing.assert_array_equal(batch, runs)


@pytest.mark.parametrize("shape", [(10, 5), (3, 1), (1, 4), (7, 3)])
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_batch_size_changes_nothing(shape: tuple[int, int], size: int) -> None:
    scores = np.random.default_rng(1).normal(size=shape)
    (whole,) = bootstrap(scores).batches(101, size=101)
    parts = list(bootstrap(scores).batches(101, size=size))
    assert all(len(part) <= size for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_batches_are_the_resamples_of_the_inherited_iterator() -> None:
    scores = np.random.default_rng(2).normal(size=(8, 3))
    one_by_one = [positional[0] for positional, _ in bootstrap(scores).bootstrap(30)]
    (batch,) = bootstrap(scores).batches(30, size=30)
    np.testing.assert_array_equal(batch, one_by_one)


def test_inherited_interval_is_reproducible() -> None:
    scores = np.random.default_rng(3).normal(size=(8, 3))
    first, second = (bootstrap(scores, 9).conf_int(metrics.aggregate_mean, 100) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_seeds_give_different_resamples() -> None:
    scores = run_numbers(10, 5)
    (first,) = bootstrap(scores, 0).batches(10, size=10)
    (second,) = bootstrap(scores, 1).batches(10, size=10)
    assert not np.array_equal(first, second)


def test_global_random_state_is_neither_read_nor_changed() -> None:
    scores = run_numbers(10, 5)
    state = np.random.get_state()
    try:
        batches: list[NDArray[np.float64]] = []
        for global_seed in (0, 1):
            np.random.seed(global_seed)
            before = pickle.dumps(np.random.get_state())
            batches += bootstrap(scores).batches(10, size=10)
            assert pickle.dumps(np.random.get_state()) == before
        np.testing.assert_array_equal(batches[0], batches[1])
    finally:
        np.random.set_state(state)


def test_tasks_are_resampled_independently_and_runs_uniformly() -> None:
    """Chi-square test of the pairs (run drawn in task 0, run drawn in task 1) against uniform.

    False-failure rate 1e-6; resampling whole runs puts all the mass on 4 of the 16 pairs.
    """
    (runs,) = bootstrap(run_numbers(4, 2)).draws(10_000, size=10_000)
    pairs = np.bincount((4 * runs[:, :, 0] + runs[:, :, 1]).ravel(), minlength=16)
    assert stats.chisquare(pairs).pvalue > 1e-6


def test_runs_are_drawn_independently_of_each_other() -> None:
    """With replacement: the pairs (first draw, second draw) of a task are uniform; as above."""
    (runs,) = bootstrap(run_numbers(4, 2)).draws(20_000, size=20_000)
    pairs = np.bincount((4 * runs[:, 0] + runs[:, 1]).ravel(), minlength=16)
    assert stats.chisquare(pairs).pvalue > 1e-6
