"""Seeds are names hashed: nothing but the parts counts, and no two lists of parts are confused."""

import numpy as np
import pytest
from commands import python

from uqbench.seeding import derive_seed


def test_seeds_fit_numpys_random_state():
    seeds = [derive_seed("environment", k) for k in range(1000)]
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert max(seeds) >= 2**31  # all 32 bits are used
    np.random.RandomState(max(seeds))  # what MinAtar makes of its seed


OTHER_PARTS = [
    (("a", "b"), ("b", "a")), (("ab", "c"), ("a", "bc")), (("a", ""), ("a",)),
    (("a", 1), ("a", "1")), ((1, 2), (12,)), ((), ("",)), ((-1,), (1,))]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), OTHER_PARTS)
def test_other_parts_give_another_seed(one, other):
    assert derive_seed(*one) != derive_seed(*other)


@pytest.mark.parametrize("salt", ["1", "2"])
def test_the_seed_is_the_same_in_another_process(salt):
    """Python's own ``hash`` of strings is not."""
    code = "from uqbench.contract.seeding import derive_seed; print(derive_seed('minatar', 'é', 3))"
    assert int(python("-c", code, PYTHONHASHSEED=salt).stdout) == derive_seed("minatar", "é", 3)
