"""What configs of agents and environments refuse."""

import pytest
from uqbench_tabular.agents.config import BQLConfig, CertaintyEquivalenceConfig
from uqbench_tabular.environments import config as worlds

REFUSED = [
    (CertaintyEquivalenceConfig, {"replan_every": 0}, "must be at least one step; got 0"),
    (CertaintyEquivalenceConfig, {"value_samples": 1}, "needs value_samples ≥ 2; got 1"),
    (CertaintyEquivalenceConfig, {"prior_counts": 0.0}, "prior_counts must be positive; got 0"),
    (CertaintyEquivalenceConfig, {"prior_lam": -1.0}, "prior_lam must be positive; got -1.0"),
    (CertaintyEquivalenceConfig, {"epsilon": 1.1}, "epsilon is a probability; got 1.1"),
    (BQLConfig, {"samples": 1}, "a spread needs two draws: samples = 1"),
    (BQLConfig, {"prior_alpha": 1.0}, "prior_alpha must be above 1, .* got 1.0"),
    (BQLConfig, {"prior_lam": 0.0}, "prior_lam must be positive"),
    (worlds.ChainConfig, {"slip": 1.2}, "slip is a probability; got 1.2"),
    (worlds.DeepSeaConfig, {"states": 2}, "states ≥ 3, .* got 2"),
    (worlds.WideNarrowConfig, {"width": 1}, "pairs ≥ 1 and width ≥ 2; got 1 and 1"),
    (worlds.WideNarrowConfig, {"deviation": -1.0}, "deviation must not be negative"),
    (worlds.PriorMDPConfig, {"states": 0}, "at least one state and action; got 0, 2"),
    (worlds.PriorMDPConfig, {"lam": 0.0}, "lam must be positive; got 0.0"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), REFUSED)
def test_a_config_that_makes_no_sense_is_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)
