"""The environments' config: what is refused."""

from __future__ import annotations

import pytest
from uqbench_tabular.environments.config import (
    ChainConfig,
    DeepSeaConfig,
    PriorMDPConfig,
    WideNarrowConfig,
)


def test_slip_is_a_probability():
    with pytest.raises(ValueError, match=r"slip is a probability; got 1.2"):
        ChainConfig(slip=1.2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeepSeaConfig(states=2), "states ≥ 3, .* got 2"),
        (lambda: WideNarrowConfig(width=1), "pairs ≥ 1 and width ≥ 2; got 1 and 1"),
        (lambda: WideNarrowConfig(deviation=-1.0), "deviation must not be negative"),
        (lambda: PriorMDPConfig(states=0), "at least one state and action; got 0, 2"),
        (lambda: PriorMDPConfig(lam=0.0), "lam must be positive; got 0.0"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
