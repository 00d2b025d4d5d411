"""The agents' config: the paper's numbers, and what is refused."""

from __future__ import annotations

import pytest
from uqbench_tabular.agents.config import BQLConfig, CertaintyEquivalenceConfig, ModelBasedConfig


def test_the_defaults_are_the_papers():
    config = ModelBasedConfig()
    assert (config.prior_counts, config.replan_every) == (1.0, 5)
    assert (config.prior_mu0, config.prior_lam, config.prior_alpha, config.prior_beta) == (
        0,
        4,
        3,
        3,
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replan_every": 0}, "replan_every must be at least one step; got 0"),
        ({"value_samples": 1}, "a variance needs value_samples ≥ 2; got 1"),
        ({"prior_counts": 0.0}, "prior_counts must be positive; got 0.0"),
        ({"prior_lam": -1.0}, "prior_lam must be positive; got -1.0"),
        ({"epsilon": 1.1}, "epsilon is a probability; got 1.1"),
    ],
)
def test_a_model_based_config_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CertaintyEquivalenceConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 1}, "a spread needs two draws: samples = 1"),
        ({"prior_alpha": 1.0}, "prior_alpha must be above 1, .* got 1.0"),
        ({"prior_lam": 0.0}, "prior_lam must be positive"),
    ],
)
def test_a_bql_config_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BQLConfig(**settings)
