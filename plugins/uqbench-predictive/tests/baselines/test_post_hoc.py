"""Scores of one network, by hand and against scikit-learn."""

from math import exp, log

import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.covariance import EmpiricalCovariance
from sklearn.neighbors import NearestNeighbors
from uqbench_predictive.baselines import post_hoc
from uqbench_predictive.baselines.inputs import Inputs, InputsConfig, nearest
from uqbench_predictive.baselines.post_hoc import PostHoc, PostHocConfig, temperature
from uqbench_predictive.networks.architectures import HEAD

from uqbench.estimator import Data

GENERATOR = torch.Generator().manual_seed(3)
FEATURES = torch.randn(2, 60, 4, generator=GENERATOR, dtype=torch.float64)
TARGETS = torch.arange(60).remainder(3).expand(2, -1)
POINTS = torch.randn(2, 9, 4, generator=GENERATOR, dtype=torch.float64)


def test_the_mahalanobis_distance_is_scikit_learns_about_the_nearest_class():
    # nothing is of the fourth class
    score = post_hoc.mahalanobis(FEATURES, TARGETS, 4)(POINTS, POINTS)
    for lane in range(2):
        x, y = FEATURES[lane].numpy(), TARGETS[lane].numpy()
        means = [x[y == c].mean(0) for c in range(3)]
        shared = EmpiricalCovariance(assume_centered=True)
        shared.fit(x - [means[c] for c in y])
        distances = [shared.mahalanobis(POINTS[lane].numpy() - mean) for mean in means]
        nearest_class = [min(each) for each in zip(*distances, strict=True)]
        assert score[lane].tolist() == pytest.approx(nearest_class)


def test_the_nearest_neighbor_is_scikit_learns():
    found = nearest(POINTS, FEATURES, 5)
    for lane in range(2):
        distances, _ = NearestNeighbors(n_neighbors=5).fit(FEATURES[lane]).kneighbors(POINTS[lane])
        assert found[lane].tolist() == pytest.approx(distances[:, -1].tolist())
    assert nearest(FEATURES, FEATURES).abs().max() == 0


def test_the_virtual_logit_matches_the_largest_logits_on_the_training_features():
    head = {HEAD[0]: torch.eye(4, dtype=torch.float64)[None, :, :3].repeat(2, 1, 1)}
    head[HEAD[1]] = torch.tensor([[[0.5, -1.0, 2.0]]], dtype=torch.float64).repeat(2, 1, 1)
    logits = FEATURES @ head[HEAD[0]] + head[HEAD[1]]
    score = post_hoc.virtual_logit(FEATURES, logits, head)
    residuals = score(FEATURES, logits) + torch.logsumexp(logits, -1)
    assert residuals.mean(-1).tolist() == pytest.approx(logits.amax(-1).mean(-1).tolist())
    origin = torch.tensor([[[-0.5, 1.0, -2.0, 0.0]]], dtype=torch.float64).repeat(2, 1, 1)
    assert torch.allclose(origin @ head[HEAD[0]] + head[HEAD[1]], torch.zeros(2, 1, 3).double())
    zero = torch.zeros(2, 1, 3, dtype=torch.float64)
    assert score(origin, zero)[:, 0].tolist() == pytest.approx([-log(3)] * 2)


def test_the_temperature_undoes_a_scale_of_the_logits():
    """The labels are drawn from the logits: 15 % are about four standard errors."""
    logits = 2 * torch.randn(2, 2_000, 3, generator=GENERATOR, dtype=torch.float64)
    drawn = [torch.multinomial(lane.softmax(-1), 1, generator=GENERATOR)[:, 0] for lane in logits]
    given = (logits * torch.tensor([1.0, 3.0])[:, None, None])[None]
    for prior in (None, 0.5):
        found = temperature(given, torch.stack(drawn), prior)
        assert found.tolist() == pytest.approx([1.0, 3.0], rel=0.15)


def test_a_prior_bounds_the_temperature_of_logits_that_make_no_error(toy, fit):
    """The optimum of Brent's method is within half a step of the grid, 1.2 %."""
    logits = torch.tensor([[2.0, 0.0], [0.0, 2.0]], dtype=torch.float64).repeat(18, 1)
    targets = logits.argmax(-1)
    assert temperature(logits[None, None], targets[None]).item() == pytest.approx(0.1)

    def objective(log_t: float) -> float:
        loss = torch.nn.functional.cross_entropy(logits / exp(log_t), targets, reduction="sum")
        return loss.item() + 0.5 * (log_t / 0.5) ** 2

    best = exp(minimize_scalar(objective, bounds=(-2, 2), method="bounded").x)
    assert 0.3 < best < 0.9
    found = temperature(logits[None, None], targets[None], 0.5).item()
    assert found == pytest.approx(best, rel=0.012)
    data = toy().data([1])
    config = PostHocConfig(hidden=(8,), scaled=True, temperature_prior=0.05)
    estimator = fit(PostHoc, config, toy(), Data(data.inputs, data.targets, data), steps=100)
    assert estimator.temperature.item() == pytest.approx(1, abs=0.1)  # without a prior 0.35
    with pytest.raises(ValueError, match="temperature_prior must be above 0, got 0"):
        PostHocConfig(temperature_prior=0.0)


FORMULAS = [
    ("msp", lambda logits: 1 - logits.softmax(-1).amax(-1)),
    ("max-logit", lambda logits: -logits.amax(-1)),
    ("energy", lambda logits: -logits.exp().sum(-1).log()),
]


@pytest.mark.parametrize(("name", "formula"), FORMULAS)
def test_scores_of_logits_are_their_formulas(toy, points, fit, name, formula):
    estimator = fit(PostHoc, PostHocConfig(score=name, hidden=(8,)), toy(), steps=20)
    logits = estimator.network(estimator.weights, points[None]).double()
    said = estimator.predict(points[None])
    assert torch.allclose(said.probs, logits.softmax(-1))
    assert torch.equal(said.total, said.aleatoric)
    assert torch.allclose(said.score, formula(logits))


LACKING = [
    ({"scaled": True}, "validation data"),
    ({"neighbors": 25, "score": "knn"}, "at most 24 neighbors"),
]


@pytest.mark.parametrize(("config", "message"), LACKING)
def test_scaling_needs_validation_data_and_neighbors_training_data(toy, fit, config, message):
    with pytest.raises(ValueError, match=message):
        fit(PostHoc, PostHocConfig(hidden=(8,), **config), toy())


@pytest.mark.parametrize(("scaled", "noise"), [(False, 0.0), (True, 9.0)])
def test_a_regression_is_scaled_by_the_residuals_of_validation_data(toy, fit, scaled, noise):
    data = toy(0).data([1])
    off = Data(data.inputs, data.targets, Data(data.inputs, data.targets + 3.0))
    estimator = fit(PostHoc, PostHocConfig(hidden=(8,), scaled=scaled), toy(0), off, steps=300)
    found = estimator.predict(data.inputs).aleatoric[0, 0].item()
    assert found == pytest.approx(noise, rel=0.2, abs=0.5)


def test_what_needs_no_model_knows_inputs_and_shares_of_classes(toy, points, fit):
    data = toy().data([1])
    nearest, cosine, norm = (
        fit(Inputs, InputsConfig(score=name), toy()) for name in ("nearest", "cosine", "norm")
    )
    assert nearest.predict(data.inputs).score.abs().max() == 0
    shares = torch.bincount(data.targets[0], minlength=3) / 24
    assert torch.allclose(nearest.predict(points[None]).probs[0], shares.double().expand(7, -1))
    assert cosine.predict(3 * data.inputs).score.abs().max() < 1e-6  # of any length
    unit, known = (x / x.norm(dim=-1, keepdim=True) for x in (points, data.inputs[0]))
    angles = (unit @ known.mT).amax(-1).clamp(max=1)
    squares = cosine.predict(points[None]).score[0].square().float()
    assert torch.allclose(squares, 2 - 2 * angles, atol=1e-6)
    assert torch.allclose(norm.predict(points[None]).score[0].float(), points.norm(dim=-1))


def test_a_distance_or_a_constant_is_stated_where_methods_state_what_they_do_not_know(
    toy, points, fit
):
    data, values = toy().data([1]), toy(0)
    said = fit(Inputs, InputsConfig(states=True), toy()).predict(points[None])
    near, d = said.probs.max(-1), torch.cdist(points[None], data.inputs).min(-1)
    assert torch.allclose(near.values.float(), 1 / 3 + 2 / 3 / (1 + d.values))
    assert torch.equal(near.indices, data.targets.gather(1, d.indices))
    assert torch.equal(said.epistemic, said.total)
    spread = fit(Inputs, InputsConfig(states=True), values).predict(points[None]).epistemic
    assert torch.allclose(spread.float(), torch.cdist(points[None], data.inputs).amin(-1) ** 2)
    told = InputsConfig(score="constant", states=True, constant=0.5)
    assert (fit(Inputs, told, toy()).predict(points[None]).epistemic == 0.5).all()
    assert (fit(Inputs, told, values).predict(points[None]).epistemic == 0.25).all()
    with pytest.raises(ValueError, match="a distance or a constant"):
        InputsConfig(score="norm", states=True)
