"""Aggregates equal rliable's; their intervals are reproducible and cover as they should."""

# ruff: noqa: NPY002 -- the legacy global state is what rliable uses and what we must not touch

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rliable import library, metrics

import uqbench.statistics
from uqbench.statistics import aggregate as module
from uqbench.statistics.aggregate import (
    MINIMUM_SEEDS,
    Estimate,
    aggregate,
    probability_of_improvement,
)
from uqbench.statistics.bootstrap import SeededStratifiedBootstrap

Matrix = NDArray[np.float64]

REFERENCES: dict[str, Callable[[Matrix], float]] = {
    "iqm": metrics.aggregate_iqm,
    "median": metrics.aggregate_median,
    "mean": metrics.aggregate_mean,
    "optimality_gap": metrics.aggregate_optimality_gap,
}
SHAPES = [(1, 1), (1, 5), (2, 1), (3, 1), (3, 3), (5, 3), (7, 2), (10, 5), (11, 7), (4, 6)]
"""Run and task counts; in most of them a quarter of the scores is not a whole number."""


def normal(shape: tuple[int, ...], seed: int = 0) -> Matrix:
    return np.random.default_rng(seed).normal(0.7, 0.5, size=shape)


def with_ties(shape: tuple[int, ...], seed: int = 0) -> Matrix:
    return np.random.default_rng(seed).integers(4, size=shape).astype(np.float64)


def skewed_with_run_effect(seed: int = 0) -> Matrix:
    """``[10, 5]``; IQM, mean and median differ, and a run is good or bad on all tasks at once."""
    generator = np.random.default_rng(seed)
    return generator.gamma(2.0, 0.4, size=(10, 5)) + generator.gamma(1.0, 0.5, size=(10, 1))


def interval(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


@pytest.fixture
def seeded_global_state() -> Iterator[None]:
    """rliable draws from the global state: seed it for the test, and restore it."""
    state = np.random.get_state()
    np.random.seed(0)
    yield
    np.random.set_state(state)


# --- equal to rliable.metrics --------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", REFERENCES)
def test_batched_statistics_equal_rliable(name: str, shape: tuple[int, int]) -> None:
    for draw in (normal, with_ties):
        resamples = draw((20, *shape))
        expected = [REFERENCES[name](matrix) for matrix in resamples]
        np.testing.assert_allclose(getattr(module, name)(resamples), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_point_estimates_are_rliables(shape: tuple[int, int]) -> None:
    scores = normal(shape)
    estimates = aggregate(scores, seed=0, repetitions=10)
    assert list(estimates) == ["iqm", "median", "mean", "optimality_gap"]
    assert {name: e.value for name, e in estimates.items()} == {
        name: reference(scores) for name, reference in REFERENCES.items()
    }


@pytest.mark.parametrize("runs", [(3, 3), (4, 7), (10, 5), (1, 2)])
@pytest.mark.parametrize("draw", [normal, with_ties])
def test_win_rate_equals_rliable_on_every_resample(
    draw: Callable[..., Matrix], runs: tuple[int, int]
) -> None:
    tasks = 3
    x, y = draw((runs[0], tasks), seed=1), draw((runs[1], tasks), seed=2)
    generator = np.random.default_rng(3)
    runs_x = generator.integers(runs[0], size=(40, runs[0], tasks))
    runs_y = generator.integers(runs[1], size=(40, runs[1], tasks))
    expected = [
        metrics.probability_of_improvement(
            np.take_along_axis(x, draw_x, axis=0), np.take_along_axis(y, draw_y, axis=0)
        )
        for draw_x, draw_y in zip(runs_x, runs_y, strict=True)
    ]
    rates = module.win_rate(module.win_matrix(x, y), runs_x, runs_y)
    np.testing.assert_allclose(rates, expected, rtol=0, atol=1e-13)
    value = probability_of_improvement(x, y, seed=0, repetitions=10).value
    assert value == metrics.probability_of_improvement(x, y)
    assert module.win_matrix(x, y).mean() == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize("name", REFERENCES)
def test_interval_equals_the_inherited_loop_on_the_same_resamples(name: str) -> None:
    """arch's own interval, one resample at a time, over the draws of the same seed: no noise."""
    scores = skewed_with_run_effect()
    bootstrap = SeededStratifiedBootstrap(scores, np.random.default_rng(5))
    expected = bootstrap.conf_int(REFERENCES[name], reps=300, size=0.9, method="percentile")
    estimate = aggregate(scores, seed=5, repetitions=300, confidence=0.9)[name]
    np.testing.assert_allclose(interval(estimate), expected[:, 0], rtol=0, atol=1e-12)


# --- exact properties ----------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [0.0, 0.1, -3.7, 2.0])
def test_constant_scores_have_a_zero_width_interval(constant: float) -> None:
    estimates = aggregate(np.full((5, 3), constant), seed=0, repetitions=500)
    for name, estimate in estimates.items():
        low, high = interval(estimate)
        assert low == high
        expected = max(1.0 - constant, 0.0) if name == "optimality_gap" else constant
        assert low == pytest.approx(expected, abs=1e-12)
        assert estimate.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_interval_contains_the_point_estimate(seed: int) -> None:
    x, y = normal((10, 5), seed), normal((8, 5), seed + 100)
    estimates = aggregate(x, seed=seed, repetitions=2000)
    estimates["improvement"] = probability_of_improvement(x, y, seed=seed, repetitions=2000)
    for estimate in estimates.values():
        low, high = interval(estimate)
        assert low < estimate.value < high


def test_interval_widens_with_confidence() -> None:
    scores = normal((10, 5))
    narrow, wide = (aggregate(scores, seed=0, confidence=c)["iqm"] for c in (0.8, 0.99))
    assert interval(wide)[0] < interval(narrow)[0] < interval(narrow)[1] < interval(wide)[1]


@pytest.mark.parametrize("shift", [-5.0, 0.25, 100.0])
@pytest.mark.parametrize("name", ["iqm", "median", "mean"])
def test_a_shift_of_the_scores_shifts_the_estimate(name: str, shift: float) -> None:
    scores = skewed_with_run_effect()
    before = aggregate(scores, seed=4, repetitions=500)[name]
    after = aggregate(scores + shift, seed=4, repetitions=500)[name]
    assert after.value == pytest.approx(before.value + shift, abs=1e-11)
    np.testing.assert_allclose(interval(after), np.add(interval(before), shift), rtol=0, atol=1e-11)


@pytest.mark.parametrize("draw", [normal, with_ties])
def test_improvements_of_x_and_of_y_add_up_to_one(draw: Callable[..., Matrix]) -> None:
    x, y = draw((6, 4), seed=1), draw((9, 4), seed=2)
    forth = probability_of_improvement(x, y, seed=0, repetitions=10).value
    back = probability_of_improvement(y, x, seed=0, repetitions=10).value
    assert forth + back == pytest.approx(1.0, abs=1e-13)
    # and so they do on every resample
    generator = np.random.default_rng(3)
    runs_x, runs_y = (generator.integers(n, size=(50, n, 4)) for n in (6, 9))
    both = module.win_rate(module.win_matrix(x, y), runs_x, runs_y) + module.win_rate(
        module.win_matrix(y, x), runs_y, runs_x
    )
    np.testing.assert_allclose(both, 1.0, rtol=0, atol=1e-13)


def test_improvement_of_certain_winners_and_of_equals() -> None:
    low, high = np.zeros((3, 2)), np.ones((4, 2))
    assert probability_of_improvement(high, low, seed=0) == Estimate(1.0, 1.0, 1.0)
    assert probability_of_improvement(low, high, seed=0) == Estimate(0.0, 0.0, 0.0)
    assert probability_of_improvement(low, low, seed=0) == Estimate(0.5, 0.5, 0.5)


# --- reproducible --------------------------------------------------------------------------------


def test_same_seed_same_numbers() -> None:
    x, y = normal((10, 5), 1), normal((7, 5), 2)
    assert aggregate(x, seed=3) == aggregate(x, seed=3)
    assert aggregate(x, seed=3) != aggregate(x, seed=4)
    first = probability_of_improvement(x, y, seed=3)
    assert first == probability_of_improvement(x, y, seed=3)
    # improvement counts pairs, so its quantiles are few and other seeds mostly hit the same ones
    few = [probability_of_improvement(x, y, seed=s, repetitions=20) for s in range(5)]
    assert len(set(few)) > 1


@pytest.mark.parametrize("numbers", [1, 97, 1000, 30_000, 10**9])
@pytest.mark.parametrize("shape", [(10, 5), (3, 1), (7, 3)])
def test_batch_size_changes_no_bit(
    numbers: int, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = normal(shape, 1), with_ties((shape[0] + 2, shape[1]), 2)
    expected = aggregate(x, seed=0, repetitions=501)
    improvement = probability_of_improvement(x, y, seed=0, repetitions=501)
    monkeypatch.setattr(module, "BATCH_NUMBERS", numbers)
    assert aggregate(x, seed=0, repetitions=501) == expected
    assert probability_of_improvement(x, y, seed=0, repetitions=501) == improvement


def test_batches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0

    def watched(resamples: Matrix) -> Matrix:
        nonlocal largest
        largest = max(largest, resamples.size)
        return np.asarray(resamples.mean(axis=(1, 2)))

    monkeypatch.setattr(module, "mean", watched)
    aggregate(normal((20, 10)), seed=0, repetitions=5000)
    assert 0 < largest <= module.BATCH_NUMBERS


def test_global_random_state_is_untouched(seeded_global_state: None) -> None:
    before = pickle.dumps(np.random.get_state())
    aggregate(normal((5, 3)), seed=0, repetitions=50)
    probability_of_improvement(normal((5, 3)), normal((4, 3)), seed=0, repetitions=50)
    assert pickle.dumps(np.random.get_state()) == before


# --- few runs, and bad input ---------------------------------------------------------------------


@pytest.mark.parametrize("runs", [1, 2])
def test_no_interval_below_the_minimum_of_seeds(runs: int) -> None:
    assert runs < MINIMUM_SEEDS
    few, enough = normal((runs, 4)), normal((MINIMUM_SEEDS, 4))
    for estimate in aggregate(few, seed=0, repetitions=10).values():
        assert np.isfinite(estimate.value)
        assert (estimate.low, estimate.high) == (None, None)
    for x, y in ((few, enough), (enough, few), (few, few)):
        estimate = probability_of_improvement(x, y, seed=0, repetitions=10)
        assert (estimate.low, estimate.high) == (None, None)


def test_interval_from_the_minimum_of_seeds_on() -> None:
    scores = normal((MINIMUM_SEEDS, 4))
    for estimate in aggregate(scores, seed=0, repetitions=100).values():
        low, high = interval(estimate)
        assert low < high
    interval(probability_of_improvement(scores, scores, seed=0, repetitions=100))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (5,), (2, 3, 4), ()])
def test_wrong_shapes_are_named(shape: tuple[int, ...]) -> None:
    good = np.zeros((3, 4))
    with pytest.raises(ValueError, match=r"\[runs, tasks\]") as raised:
        aggregate(np.zeros(shape), seed=0)
    assert str(shape) in str(raised.value)
    with pytest.raises(ValueError, match=r"^x must"):
        probability_of_improvement(np.zeros(shape), good, seed=0)
    with pytest.raises(ValueError, match=r"^y must"):
        probability_of_improvement(good, np.zeros(shape), seed=0)


def test_different_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4\) and \(3, 5\)"):
        probability_of_improvement(np.zeros((3, 4)), np.zeros((3, 5)), seed=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_scores_are_named(bad: float) -> None:
    scores = np.zeros((4, 3))
    scores[2, 1] = bad
    with pytest.raises(ValueError, match=rf"scores\[2, 1\] = {bad}"):
        aggregate(scores, seed=0)
    with pytest.raises(ValueError, match=rf"y\[2, 1\] = {bad}"):
        probability_of_improvement(np.zeros((4, 3)), scores, seed=0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, float("nan")])
def test_confidence_is_a_fraction(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        aggregate(np.zeros((3, 2)), seed=0, confidence=confidence)


def test_repetitions_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="repetitions"):
        probability_of_improvement(np.zeros((3, 2)), np.zeros((3, 2)), seed=0, repetitions=0)


def test_the_package_does_not_import_the_heavy_libraries() -> None:
    heavy = {"rliable", "arch", "scipy", "pandas"}
    program = f"import sys, uqbench.statistics; print({heavy!r} & set(sys.modules))"
    root = Path(uqbench.statistics.__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


# --- agreement with rliable, and coverage --------------------------------------------------------


def assert_same_interval(estimate: Estimate, rliable_interval: Matrix) -> None:
    """Equal up to five Monte-Carlo standard errors of the ends.

    The 2.5 % quantile of B normal replicates with standard deviation s has a standard error of
    sqrt(.025 * .975 / B) s / phi(1.96) = 2.67 s / sqrt(B): 0.060 s at rliable's 2,000 and 0.012 s
    at our 50,000, together 0.061 s, where s is the width / 3.92. Five of them are 0.078 widths.
    Two-sided, 5.7e-7 an end; over the ten ends compared a false failure has a chance of 6e-6.
    """
    low, high = interval(estimate)
    tolerance = 5 * 0.061 * (high - low) / 3.92
    np.testing.assert_allclose(rliable_interval.ravel(), (low, high), rtol=0, atol=tolerance)


def test_intervals_agree_with_rliable(seeded_global_state: None) -> None:
    # Runs that are good or bad on all tasks: resampling whole runs would widen the interval.
    scores = skewed_with_run_effect()

    def statistics(matrix: Matrix) -> Matrix:
        return np.array([reference(matrix) for reference in REFERENCES.values()])

    values, intervals = library.get_interval_estimates({"ours": scores}, statistics, reps=2000)
    estimates = aggregate(scores, seed=0)
    assert [estimate.value for estimate in estimates.values()] == list(values["ours"])
    for column, name in enumerate(REFERENCES):
        assert_same_interval(estimates[name], intervals["ours"][:, column])


def test_improvement_agrees_with_rliable(seeded_global_state: None) -> None:
    x, y = skewed_with_run_effect(1), skewed_with_run_effect(2) + 0.2
    _, intervals = library.get_interval_estimates(
        {"x,y": [x, y]}, metrics.probability_of_improvement, reps=2000
    )
    assert_same_interval(probability_of_improvement(x, y, seed=0), intervals["x,y"])


def test_coverage_of_ten_gaussian_runs() -> None:
    """The nominal 95 % interval covers the truth in 93 % of the experiments, not in 95 %.

    For the mean of n = 10 runs x 5 tasks the resamples have (n - 1) / n of the unbiased variance,
    so the interval covers where |t| with 45 degrees of freedom is below 1.96 sqrt(0.9) = 1.86:
    93.0 %. The IQM, whose truth is the same mean by symmetry, was measured at 93.1 %. Over 3,000
    experiments the standard error is 0.47 %. The band of 4.5 of them, 90.9 % to 95.1 %, is left by
    chance in 7e-6 of the seeds for each of the two; a 90 % or a 99 % interval is always outside.
    """
    experiments, truth = 3000, 0.5
    generator = np.random.default_rng(11)
    covered = {"iqm": 0, "mean": 0}
    for experiment in range(experiments):
        scores = generator.normal(truth, 0.3, size=(10, 5))
        estimates = aggregate(scores, seed=experiment, repetitions=1000)
        for name in covered:
            low, high = interval(estimates[name])
            covered[name] += low <= truth <= high
    for count in covered.values():
        assert count / experiments == pytest.approx(0.930, abs=4.5 * 0.0047)
