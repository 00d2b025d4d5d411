"""Seeds are names hashed: nothing but the parts counts, and no two lists of parts are confused."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from uqbench.seeding import derive_seed


def test_seeds_fit_numpys_random_state() -> None:
    seeds = [derive_seed("environment", k) for k in range(1000)]
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert max(seeds) >= 2**31  # all 32 bits are used
    np.random.RandomState(max(seeds))  # what MinAtar makes of its seed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("b", "a")),
        (("ab", "c"), ("a", "bc")),
        (("a", ""), ("a",)),
        (("a", 1), ("a", "1")),
        ((1, 2), (12,)),
        (("environment", 0), ("agent", 0)),
        ((), ("",)),
        ((-1,), (1,)),
    ],
)
def test_other_parts_give_another_seed(
    one: tuple[str | int, ...], other: tuple[str | int, ...]
) -> None:
    assert derive_seed(*one) != derive_seed(*other)


def test_ten_thousand_names_collide_as_seldom_as_random_numbers() -> None:
    """Expected 0.012 equal pairs; more than one pair for a fresh set of names: one in 10,000."""
    seeds = {derive_seed("task", task, seed) for task in range(100) for seed in range(100)}
    assert len(seeds) >= 9_999


def test_the_seed_is_the_same_in_another_process() -> None:
    """Python's own ``hash`` of strings is not."""
    command = (
        "from uqbench.contract.seeding import derive_seed; print(derive_seed('minatar', 'é', 3))"
    )
    for salt in ("1", "2"):
        given = subprocess.run(
            [sys.executable, "-c", command],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(given.stdout) == derive_seed("minatar", "é", 3)
