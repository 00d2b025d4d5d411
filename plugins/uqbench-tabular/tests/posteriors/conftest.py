"""Random numbers for tests of samples."""

import numpy as np
import pytest

from uqbench.lanes import generators


@pytest.fixture
def generator():
    """``generator(seed)``: the NumPy generator of a lane with that seed."""

    def of(seed: int = 0) -> np.random.Generator:
        return generators([seed], "test", 0)[0]

    return of
