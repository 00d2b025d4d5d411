"""The sine."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from uqbench_quam.problems.sine import Sine, SineConfig

from uqbench.estimator import PredictiveUncertainty


def test_the_sines_scores_are_zero_for_the_ground_truth(monkeypatch):
    std = np.linspace(0.1, 2, 60, dtype=np.float32)[None].repeat(4, 0)
    monkeypatch.setattr("uqbench_quam.problems.sine.read", lambda name: {"std": std})

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        variance = torch.from_numpy(std[: len(inputs)]).double().square()
        mean = inputs.squeeze(-1).sin().double() + 0.5
        return PredictiveUncertainty(variance, 0 * variance, variance, None, "variance", mean=mean)

    scores = Sine(SineConfig()).score([0, 1], oracle)
    assert scores["std_mae"].abs().max() < 1e-7
    assert scores["rank_correlation"].tolist() == pytest.approx([1, 1])
    assert scores["rmse"].tolist() == pytest.approx([0.5, 0.5])
    assert math.isclose(Sine(SineConfig()).data([0]).targets.abs().max().item(), 1, abs_tol=0.4)
