"""QUAM: searches, points and classes of an estimator; mixture importance sampling."""

import math

import pytest
import torch
from uqbench_predictive.networks.architectures import Mlp
from uqbench_quam.methods.config import QuamConfig
from uqbench_quam.methods.importance import asymptotic_variance, posterior_weights
from uqbench_quam.methods.quam import Quam, affordable

CPU = torch.device("cpu")
NETWORK = Mlp(2, (8,), 3)
SMALL = {"hidden": (8,)}


def fitted(task, seeds, steps=1, **settings):
    estimator = Quam(task.problem, seeds, QuamConfig(**SMALL | settings), CPU)
    estimator.fit(task.data(seeds), task.reference_model(seeds), steps=steps)
    return estimator


def test_points_are_searched_for_by_themselves(toy):
    task, search = toy(reference=True), {"search_steps": 8, "period": 2}
    estimator = fitted(task, [1, 2], **search)
    many = torch.randn(2, 900, 2, generator=torch.Generator().manual_seed(1))
    together = estimator.predict(many).epistemic
    for point in (0, 411, 899):  # to rounding: the reference's products have other shapes
        alone = estimator.predict(many[:, [point]]).epistemic
        assert torch.allclose(alone[:, 0], together[:, point], rtol=1e-6)
    # a lane's searches fall into other groups where another lane's come before: still the same bits
    assert torch.equal(fitted(task, [2], **search).predict(many[1:]).epistemic[0], together[1])


def test_a_search_of_one_step_meets_the_reference_alone(toy, predict):
    said = predict(Quam, QuamConfig(search_steps=1, **SMALL), toy(reference=True), [1])
    assert said.epistemic.abs().max() < 1e-6
    assert torch.allclose(said.highest, said.probs, atol=1e-6)


def test_a_search_of_the_last_layer_keeps_the_features(toy, points):
    task = toy(reference=True)
    estimator = fitted(task, [1], search_steps=30, search_rate=1e-2, last_layer=True)
    assert (estimator.searched, estimator.data.inputs.shape) == (Mlp(8, (), 3), (1, 24, 8))
    outputs = estimator.searched(estimator.start, estimator.data.inputs)
    assert torch.allclose(outputs, NETWORK(estimator.weights, task.data([1]).inputs), atol=1e-6)
    assert (estimator.predict(points[None]).epistemic > 1e-4).any()


def test_searches_are_for_the_most_probable_classes_where_not_for_all(toy):
    log_probs = torch.tensor([[[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]]]).log()
    for classes, expected in ((2, [[[1, 2], [0, 2]]]), (None, [[[0, 1, 2], [0, 1, 2]]])):
        config = QuamConfig(search_steps=6, classes=classes, **SMALL)
        estimator = Quam(toy(reference=True).problem, [1], config, CPU)
        assert estimator._target_classes(log_probs).tolist() == expected


def test_a_regressions_searches_end_above_and_below_the_reference(toy):
    search = {"search_steps": 200, "period": 40, "search_rate": 1e-2, "slack": 0.1}
    far = torch.tensor([[[9.0, -9.0]]])
    estimator = fitted(toy(0), [1], steps=200, models="best", **search)
    said = estimator.predict(far)
    reference = estimator.network(estimator.weights, far)[0, 0, 0].item()
    std = said.epistemic.sqrt().item()
    assert std > 0.5
    assert said.members is None  # a model found for one input predicts no other
    assert abs(said.mean.item() - reference) < std


def test_a_budget_of_forward_passes_pays_for_whole_searches():
    assert (affordable(600, 100), affordable(899, 100)) == (2, 2)
    with pytest.raises(ValueError, match="pays for no search: one of 100 steps costs 300"):
        affordable(299, 100)


def test_weights_are_the_likelihood_and_follow_the_temperature():
    losses = torch.tensor([[1.0], [2.0], [3.0]])
    n = 4  # exp(−n L) is the likelihood of n points
    expected = (-n * losses.double()).exp()
    assert torch.allclose(posterior_weights(losses, 1 / n), expected / expected.sum(), atol=1e-7)
    assert torch.allclose(posterior_weights(losses, 1e9), torch.full((3, 1), 1 / 3).double())


def test_figure_b1_s_asymptotic_variance_is_a_quarter_of_e_to_the_ninth_minus_one():
    x = torch.linspace(-12, 18, 300_001, dtype=torch.float64)

    def normal(mean):
        return (-0.5 * (x - mean) ** 2).exp() / math.sqrt(2 * math.pi)

    target, cell = 0.5 * normal(0.0) + 0.5 * normal(3.0), (x[1] - x[0]).item()
    variance = asymptotic_variance(target, normal(0.0), cell).item()
    assert variance == pytest.approx((math.exp(9) - 1) / 4)


def test_a_proposal_proportional_to_the_integrand_has_no_variance_and_theorem_1_holds():
    posterior = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
    integrand = posterior * torch.tensor([0.0, 0.3, 2.0], dtype=torch.float64)
    best = integrand / integrand.sum()
    assert asymptotic_variance(integrand[1:], best[1:], 1.0).item() == pytest.approx(0, abs=1e-12)
    variance = asymptotic_variance(integrand, posterior, 1.0)
    bound = 4 * (posterior * (integrand / posterior).square()).sum()  # equation 5, times N
    assert 0 < variance < bound


def test_the_highest_probability_is_no_less_than_the_mean_where_no_model_is_accepted(toy, points):
    """Models outside the radius have weight in setting (a), and say more than the reference."""
    search = {"search_steps": 9, "slack": 0.0, "penalty": 1e-6, "search_rate": 0.1}
    said = fitted(toy(), [1], 300, temperature=10.0, **search).predict(points[None])
    assert (said.highest >= said.probs).all()
