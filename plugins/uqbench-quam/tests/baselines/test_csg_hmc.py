"""Cyclical SG-HMC."""

from __future__ import annotations

from dataclasses import replace

import pytest
from uqbench_quam.baselines.csg_hmc import CyclicalSGHMCConfig, kept_iterations, step_size


def test_the_step_size_falls_by_a_cosine_in_every_cycle_and_models_are_kept_late_in_it():
    config = CyclicalSGHMCConfig(
        iterations=100, cycles=2, step_size=0.4, exploration=0.8, samples=10
    )
    assert step_size(config, 0) == (0.4, 0.0)
    assert step_size(config, 25)[0] == pytest.approx(0.2)
    assert step_size(config, 50)[0] == 0.4
    kept = kept_iterations(config)
    assert len(kept) == 10
    assert all(step_size(config, k)[1] >= 0.8 for k in kept)
    assert kept_iterations(replace(config, samples=1000)) == {*range(40, 50), *range(90, 100)}
