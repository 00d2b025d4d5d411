"""The environments' config: what is refused."""

import pytest
from uqbench_tabular.environments.config import (
    ChainConfig,
    DeepSeaConfig,
    PriorMDPConfig,
    WideNarrowConfig,
)

REFUSED = [
    (lambda: ChainConfig(slip=1.2), "slip is a probability; got 1.2"),
    (lambda: DeepSeaConfig(states=2), "states ≥ 3, .* got 2"),
    (lambda: WideNarrowConfig(width=1), "pairs ≥ 1 and width ≥ 2; got 1 and 1"),
    (lambda: WideNarrowConfig(deviation=-1.0), "deviation must not be negative"),
    (lambda: PriorMDPConfig(states=0), "at least one state and action; got 0, 2"),
    (lambda: PriorMDPConfig(lam=0.0), "lam must be positive; got 0.0"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_a_config_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
