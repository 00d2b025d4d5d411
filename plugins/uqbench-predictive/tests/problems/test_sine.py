"""The sine."""

import math

import numpy as np
import pytest
import torch
from uqbench_predictive.problems.ground_truth import read
from uqbench_predictive.problems.infinite_width import posterior
from uqbench_predictive.problems.sine import (
    CHECKED_BY_HMC,
    NOISE_VAR,
    PRIORS,
    Sine,
    SineConfig,
    grid,
    ground_truth,
)

from uqbench.estimator import Predictions, PredictiveUncertainty


@pytest.mark.parametrize(("prior", "prefix"), [("suite", ""), ("paper", "paper_prior_")])
def test_the_sines_scores_are_zero_for_the_truth_of_that_prior_alone(prior, prefix):
    std = ground_truth(prior, [0, 1])

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        variance = std.square()
        mean = inputs.squeeze(-1).sin().double() + 0.5
        return PredictiveUncertainty(variance, 0 * variance, variance, None, "variance", mean=mean)

    task = Sine(SineConfig())
    sets = task.evaluation_sets([0, 1])
    given = {n: Predictions(oracle(one.inputs), one.targets) for n, one in sets.items()}
    scores = task.score([0, 1], given)
    assert scores[f"{prefix}std_mae"].abs().max() < 1e-5
    assert scores[f"{prefix}rank_correlation"].tolist() == pytest.approx([1, 1])
    other = {"": "paper_prior_", "paper_prior_": ""}[prefix]
    assert (scores[f"{other}outside_std_mae"] > 100).all()
    assert scores["outside_std"].tolist() == pytest.approx(
        std[:, grid().abs() > math.pi].mean(-1).tolist()
    )
    assert scores["rmse"].tolist() == pytest.approx([0.5, 0.5])
    assert math.isclose(Sine(SineConfig()).data([0]).targets.abs().max().item(), 1, abs_tol=0.4)


def test_the_closed_form_agrees_with_the_committed_chains_of_finite_width():
    arrays = read("sine-hmc")
    chains, exact = arrays["std"], read("sine")["suite_std"][:CHECKED_BY_HMC]
    assert chains.shape == (4, 60)
    assert np.abs(chains / exact - 1).mean() < 0.05
    assert arrays["rhat"].max() < 1.05
    assert arrays["ess"].min() > 100


def test_the_committed_standard_deviations_follow_from_the_data_and_the_priors():
    data = Sine(SineConfig()).data([7])
    for prior, (inputs, scales) in PRIORS.items():
        _, covariance = posterior(
            data.inputs[0], data.targets[0], grid()[:, None], NOISE_VAR, inputs, scales
        )
        std = covariance.diagonal().sqrt()
        assert torch.allclose(ground_truth(prior, [7])[0], std, rtol=1e-5)
