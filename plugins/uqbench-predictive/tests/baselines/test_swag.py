"""SWAG: the normal of which networks are drawn, and descent on a linear regression."""

import numpy as np
import pytest
import torch
from uqbench_predictive.baselines.swag import SWAG, Moments, SWAGConfig

CPU = torch.device("cpu")
LANES = 20_000


def test_draws_have_the_mean_of_the_states_and_half_of_both_covariances():
    """Standard errors of 20,000 draws: of a mean 0.007 deviations, of a covariance 1 %."""
    states = np.random.default_rng(4).normal(size=(12, 3)) @ np.array(
        [[1.0, 0.9, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 2.0]]
    )
    moments = Moments(rank=5)
    for state in states:
        moments.add(torch.from_numpy(state).expand(LANES, 3))
    drawn = moments.draw([torch.Generator().manual_seed(k) for k in range(LANES)])
    running = [states[: k + 1].mean(0) for k in range(12)]
    deviations = (states - running)[-5:]
    expected = 0.5 * (np.diag(states.var(0)) + deviations.T @ deviations / 4)
    scale = np.sqrt(np.diag(expected))
    assert (np.abs(drawn.numpy().mean(0) - states.mean(0)) < 0.04 * scale).all()
    error = np.abs(np.cov(drawn.numpy().T) - expected) / np.outer(scale, scale)
    assert (error < 0.05).all()


def test_with_all_rows_it_ends_where_the_loss_is_least_and_with_few_it_spreads_around(toy, points):
    task = toy(0)
    data = task.data([3])
    said = {}
    for batch in (None, 6):
        config = SWAGConfig(
            hidden=(), weight_decay=0.5, iterations=600, step_size=0.05, states=20,
            descent_batch_size=batch,
        )  # fmt: skip
        estimator = SWAG(task.problem, [3], config, CPU)
        estimator.fit(data, None, steps=300)
        said[batch] = estimator.predict(points[None])
    phi = torch.cat([data.inputs[0], torch.ones(24, 1)], 1).double()
    x = torch.cat([points, torch.ones(7, 1)], 1).double()
    gram = 2 * phi.T @ phi + 24 * 0.5 * torch.eye(3)
    least = x @ torch.linalg.solve(gram, 2 * phi.T @ data.targets[0].double())
    assert said[None].mean[0].tolist() == pytest.approx(least.tolist(), abs=1e-2)
    assert said[None].epistemic.max() < 1e-4
    assert (said[6].epistemic > 10 * said[None].epistemic.max()).all()


def test_fewer_than_two_deviations_have_no_covariance():
    with pytest.raises(ValueError, match=r"2 ≤ rank ≤ states; got 1000, 30, 20 and 10"):
        SWAGConfig(states=10)
