"""MC dropout."""

from __future__ import annotations

import pytest
from uqbench_predictive.baselines.mc_dropout import MCDropout, MCDropoutConfig

SMALL = {"hidden": (8,)}


def test_mc_dropout_without_dropout_is_one_model(toy, predict):
    said = predict(MCDropout, MCDropoutConfig(passes=5, probability=0.0, **SMALL), toy(), [1])
    assert said.epistemic.abs().max() < 1e-12
    with pytest.raises(ValueError, match="this task has none"):
        predict(MCDropout, MCDropoutConfig(trains=False), toy(), [1])
