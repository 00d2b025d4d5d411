"""Random numbers of a lane are a function of (seed, stream, t) and have the law they claim.

The seeds are fixed, so a test passes always or never; "one in N" is how often a fresh seed fails.
"""

import threading
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from uqbench.lanes import DistinctIntegers, Normal, Uniform
from uqbench.lanes.distinct import distinct

Source = Uniform | DistinctIntegers
Maker = Callable[[list[int], str], Source]

SEEDS = [7, 0, 2**32 - 1, 12]
STEPS = [0, 1, 255, 256, 257, 511, 512, 1000, 100_000]
RARE = 1e-6  # least p-value: a test of a law fails for one fresh seed in a million

every_source = pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda seeds, stream: Uniform(seeds, stream, (3,)), id="uniform"),
        pytest.param(lambda seeds, stream: Normal(seeds, stream, (2, 2)), id="normal"),
        pytest.param(lambda seeds, stream: DistinctIntegers(seeds, stream, 1, 1000), id="integers"),
    ],
)


def draws(source: Source, steps: range) -> Tensor:
    """``[T, L, ...]``."""
    return torch.stack([source.at(t) for t in steps])


@every_source
def test_a_step_has_the_same_values_in_whatever_order_steps_are_asked_for(make: Maker) -> None:
    ascending, other = make(SEEDS, "s"), make(SEEDS, "s")
    expected = {t: ascending.at(t) for t in STEPS}
    for t in [*reversed(STEPS), 256, 0, 256, 255, 0, 0]:
        assert torch.equal(other.at(t), expected[t])


@every_source
@pytest.mark.parametrize("lanes", [[0], [3, 1], [2, 2, 0, 1, 3]])
def test_a_lane_has_the_same_values_among_any_other_lanes(make: Maker, lanes: list[int]) -> None:
    together, chosen = make(SEEDS, "s"), make([SEEDS[lane] for lane in lanes], "s")
    for t in STEPS:
        assert torch.equal(chosen.at(t), together.at(t)[lanes])


@every_source
def test_values_handed_out_are_not_overwritten_by_later_steps(make: Maker) -> None:
    source = make(SEEDS, "s")
    first = source.at(0)
    kept = first.clone()
    source.at(1)
    source.at(256)
    assert torch.equal(first, kept)


@every_source
def test_streams_seeds_and_blocks_differ(make: Maker) -> None:
    """Ten integers below 251 or more agree by chance less than once in 10^20."""
    sequences = [
        tuple(sequence.flatten().tolist())
        for stream in ("explore", "replay", "")
        for first in (250, 512, 768)
        for sequence in draws(make(SEEDS, stream), range(first, first + 10)).unbind(1)
    ]
    assert len(set(sequences)) == len(sequences)


@pytest.mark.parametrize("kind", [Uniform, Normal])
def test_no_two_steps_share_their_values(kind: type[Uniform]) -> None:
    """Two of 6,000 triples of single-precision numbers are equal once in 10^12."""
    rows = draws(kind(SEEDS, "s", (3,)), range(1500)).flatten(0, 1)
    assert len({tuple(row) for row in rows.tolist()}) == len(rows)


def test_streams_and_neighboring_seeds_are_uncorrelated() -> None:
    """One in a million."""
    base = draws(Uniform([5], "a"), range(4096)).flatten().numpy()
    for seed, stream in [(5, "b"), (6, "a")]:
        other = draws(Uniform([seed], stream), range(4096)).flatten().numpy()
        assert stats.pearsonr(base, other).pvalue > RARE


def test_uniform_numbers_are_uniform_in_the_half_open_interval() -> None:
    """One in a million."""
    values = draws(Uniform(SEEDS, "s", (2,)), range(2048))
    assert (values.dtype, values.shape) == (torch.float32, (2048, 4, 2))
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values.flatten().numpy(), "uniform").pvalue > RARE


def test_normal_numbers_are_standard_normal() -> None:
    """One in a million."""
    values = draws(Normal(SEEDS, "s", (2,)), range(2048))
    assert (values.dtype, values.shape) == (torch.float32, (2048, 4, 2))
    assert stats.kstest(values.flatten().numpy(), "norm").pvalue > RARE


@pytest.mark.parametrize(("count", "pool"), [(1, 3), (5, 5), (7, 12), (32, 40), (32, 5000)])
def test_distinct_integers_are_those_of_floyds_algorithm_one_by_one(count: int, pool: int) -> None:
    uniform = np.random.default_rng(0).random((300, count))
    pools = np.arange(300) // 100 + pool
    for row, own, size in zip(distinct(uniform, pools).tolist(), uniform, pools, strict=True):
        chosen: list[int] = []
        for u, last in zip(own, range(size - count, size), strict=True):
            candidate = min(int(u * (last + 1)), last)
            chosen.append(last if candidate in chosen else candidate)
        assert row == chosen


@pytest.mark.parametrize(
    ("count", "capacity", "t", "pool"), [(5, 100, 3, 4), (5, 100, 0, 1), (5, 4, 1000, 4)]
)
def test_a_pool_smaller_than_the_batch_is_refused(count, capacity, t, pool):
    with pytest.raises(ValueError, match=rf"at least {count} .* {pool} at step {t}"):
        DistinctIntegers(SEEDS, "s", count, capacity).at(t)


@pytest.mark.parametrize(("count", "pool"), [(1, 7), (2, 5), (3, 6), (4, 5)])
def test_all_subsets_of_the_pool_are_equally_likely(count: int, pool: int) -> None:
    """Chi-square over 20,480 draws; one in a million."""
    source = DistinctIntegers(list(range(20)), "s", count, capacity=pool)
    drawn = draws(source, range(pool, pool + 1024)).flatten(0, 1).sort(-1).values
    names = {subset: i for i, subset in enumerate(combinations(range(pool), count))}
    seen = [names[tuple(row)] for row in drawn.tolist()]
    assert stats.chisquare(np.bincount(seen, minlength=len(names))).pvalue > RARE


def test_old_and_new_items_of_a_growing_pool_are_equally_likely() -> None:
    """Chi-square over 25,600 draws; one in a million."""
    source = DistinctIntegers(list(range(100)), "s", 8, capacity=10_000)
    steps = range(2000, 2032)
    pool = torch.arange(steps.start, steps.stop)[:, None, None] + 1
    tenths = (draws(source, steps) * 10 // pool).flatten()
    assert stats.chisquare(np.bincount(tenths.numpy(), minlength=10)).pvalue > RARE


@every_source
def test_blocks_that_a_thread_draws_ahead_have_the_same_values(make, monkeypatch):
    steps, plain = [*STEPS, 0, 256, 100_000, 100_300, 100_400], make(SEEDS, "s")
    expected = [plain.at(t) for t in steps]
    monkeypatch.setattr("uqbench.lanes.random.DRAWN_AHEAD", {"cpu"})
    source, drawn = make(SEEDS, "s"), []
    whole_block = source._block

    def noted(index: int) -> Tensor:
        drawn.append((index, threading.current_thread() is threading.main_thread()))
        return whole_block(index)

    monkeypatch.setattr(source, "_block", noted)
    for t, values in zip(steps, expected, strict=True):
        assert torch.equal(source.at(t), values)
    jumps = {0, 390}  # where no block was drawn ahead
    assert {index for index, by_main in drawn if by_main} == jumps
