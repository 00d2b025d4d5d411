"""Two moons."""

import numpy as np
import torch
from uqbench_predictive.problems.two_moons import TwoMoons, TwoMoonsConfig, far_corners, grid, moons


def test_moons_are_half_circles_and_the_corners_lie_far_on_either_side():
    points = moons(50)
    assert np.allclose(np.linalg.norm(points[:50], axis=1), 1)
    assert np.allclose(np.linalg.norm(points[50:] - [1, 0.5], axis=1), 1)
    corners = grid()[far_corners()]
    top_left = corners[:, 1] > 0
    assert (corners[top_left, 0] < 0).all()
    assert (corners[~top_left, 0] > 1).all()
    assert 10 < top_left.sum() < 40
    assert 10 < (~top_left).sum() < 40


def test_the_reference_is_the_same_for_every_estimator_and_only_where_it_is_given():
    task = TwoMoons(TwoMoonsConfig(setting="given"))
    x = grid()[None, :5]
    assert torch.equal(
        task.reference_model([3]).log_probs(x), task.reference_model([3]).log_probs(x)
    )
    assert TwoMoons(TwoMoonsConfig(setting="selected")).reference_model([3]) is None
