"""Settings of the family that make no sense are refused."""

import pytest
from uqbench_dqn import config

REFUSED = [
    (config.RNDConfig, {"bonus": -1.0}, "bonus >= 0 and features >= 1, got -1.0 and 16"),
    (config.BootstrappedDQNConfig, {"heads": 1}, "at least 2 heads, got 1"),
    (config.BootstrappedDQNConfig, {"mask_probability": 0.0}, r"must be in \(0, 1\], got 0"),
    (config.BootstrappedDQNConfig, {"noise_std": -1.0}, "noise_std must not be negative"),
    (config.RandomizedPriorConfig, {"prior_scale": 0.0}, "it is the agent bootstrapped-dqn"),
    (config.C51Config, {"v_min": 2.0, "v_max": 1.0}, "v_min < v_max"),
    (config.VDQNConfig, {"likelihood_std": 0.0}, "likelihood_std must be positive"),
    (config.VDQNConfig, {"samples": 1}, "at least 2 samples"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), REFUSED)
def test_a_setting_that_makes_no_sense_is_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)
