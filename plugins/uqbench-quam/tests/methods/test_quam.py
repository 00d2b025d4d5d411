"""QUAM: searches, points and classes of an estimator."""

from __future__ import annotations

import pytest
import torch
from uqbench_predictive.networks.architectures import Mlp
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.quam import Quam, affordable

CPU = torch.device("cpu")
NETWORK = Mlp(2, (8,), 3)
SMALL = {"hidden": (8,)}


def test_points_are_searched_for_by_themselves(toy):
    task = toy(reference=True)
    config = QuamConfig(search_steps=8, period=2, **SMALL)
    estimator = Quam(task.problem, [1, 2], config, CPU)
    estimator.fit(task.data([1, 2]), task.reference_model([1, 2]), steps=1)
    many = torch.randn(2, 900, 2, generator=torch.Generator().manual_seed(1))
    together = estimator.predict(many).epistemic
    for point in (0, 411, 899):  # to rounding: the reference's products have other shapes
        alone = estimator.predict(many[:, [point]]).epistemic
        assert torch.allclose(alone[:, 0], together[:, point], rtol=1e-6)
    single = Quam(task.problem, [2], config, CPU)
    single.fit(task.data([2]), task.reference_model([2]), steps=1)
    # a lane's searches fall into other groups where another lane's come before: still the same bits
    assert torch.equal(single.predict(many[1:]).epistemic[0], together[1])


def test_a_search_of_one_step_meets_the_reference_alone(toy, predict):
    said = predict(Quam, QuamConfig(search_steps=1, **SMALL), toy(reference=True), [1])
    assert said.epistemic.abs().max() < 1e-6
    assert torch.allclose(said.highest, said.probs, atol=1e-6)


def test_a_search_of_the_last_layer_keeps_the_features(toy, points):
    task = toy(reference=True)
    config = QuamConfig(search_steps=30, search_rate=1e-2, last_layer=True, **SMALL)
    estimator = Quam(task.problem, [1], config, CPU)
    estimator.fit(task.data([1]), task.reference_model([1]), steps=1)
    assert estimator.searched == Mlp(8, (), 3)
    assert estimator.data.inputs.shape == (1, 24, 8)
    outputs = estimator.searched(estimator.start, estimator.data.inputs)
    assert torch.allclose(outputs, NETWORK(estimator.weights, task.data([1]).inputs), atol=1e-6)
    assert (estimator.predict(points[None]).epistemic > 1e-4).any()


def test_searches_are_for_the_most_probable_classes_where_not_for_all(toy):
    task = toy(reference=True)
    estimator = Quam(task.problem, [1], QuamConfig(search_steps=6, classes=2, **SMALL), CPU)
    log_probs = torch.tensor([[[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]]]).log()
    assert estimator._target_classes(log_probs).tolist() == [[[1, 2], [0, 2]]]
    every = Quam(task.problem, [1], QuamConfig(search_steps=6, **SMALL), CPU)
    assert every._target_classes(log_probs).tolist() == [[[0, 1, 2], [0, 1, 2]]]


def test_a_regressions_searches_end_above_and_below_the_reference(toy):
    config = QuamConfig(
        search_steps=200, period=40, search_rate=1e-2, models="best", slack=0.1, **SMALL
    )
    far = torch.tensor([[[9.0, -9.0]]])
    estimator = Quam(toy(0).problem, [1], config, CPU)
    estimator.fit(toy(0).data([1]), None, steps=200)
    said = estimator.predict(far)
    reference = estimator.network(estimator.weights, far)[0, 0, 0].item()
    std = said.epistemic.sqrt().item()
    assert std > 0.5
    assert said.members is None  # a model found for one input predicts no other
    assert abs(said.mean.item() - reference) < std


def test_a_budget_of_forward_passes_pays_for_whole_searches():
    assert affordable(600, 100) == 2
    assert affordable(899, 100) == 2
    with pytest.raises(ValueError, match="pays for no search: one of 100 steps costs 300"):
        affordable(299, 100)
