"""The Gaussian process of infinite width, and as a classifier."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import one_hot
from uqbench_predictive.baselines.nngp import NNGP, NNGPConfig
from uqbench_predictive.networks.architectures import Mlp
from uqbench_predictive.problems.infinite_width import kernel, marginals, posterior

from uqbench.estimator import Data
from uqbench.lanes import lane_generators

SCALES = (2.0, 2.0)


def test_the_kernel_is_the_covariance_of_wide_random_networks():
    # 4,000 networks: the standard error of a covariance is below 3 % of the variances' root product
    network, count, width = Mlp(1, (64, 64), 1), 4_000, 64
    (generator,) = lane_generators([0])
    weights = {}
    for name, shape in network.shapes.items():
        variance = {"0.weight": 2.0, "1.weight": 3 / width, "head.weight": 1.5 / width}.get(name, 1)
        weights[name] = torch.randn(count, *shape, generator=generator) * variance**0.5
    x = torch.tensor([-2.0, 0.3, 1.5])
    outputs = network(weights, x[:, None].expand(count, -1, -1)).squeeze(-1).double()
    exact = kernel(x.double()[:, None], x.double()[:, None], 2.0, (3.0, 1.5))
    spread = exact.diagonal().sqrt()
    found = (outputs.T @ outputs / count) / spread / spread[:, None]
    assert torch.allclose(found, exact / spread / spread[:, None], atol=0.12)


def test_the_posterior_without_hidden_layers_is_bayesian_linear_regression():
    x, y = torch.randn(2, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points = torch.tensor([-3.0, 0.0, 2.0], dtype=torch.float64)
    mean, spread = posterior(x[:, None], y, points[:, None], 0.2, 1.7, ())
    phi, at = (torch.stack([p, torch.ones_like(p)], 1) for p in (x, points))
    covariance = torch.linalg.inv(phi.T @ phi / 0.2 + torch.diag(torch.tensor([1 / 1.7, 1.0])))
    assert torch.allclose(mean, at @ covariance @ phi.T @ y / 0.2)
    assert torch.allclose(spread, at @ covariance @ at.T)


def test_means_and_variances_are_the_posteriors_at_the_scale_that_is_likeliest(toy, points):
    data = toy().data([3])
    x, y = data.inputs[0], one_hot(data.targets[0], 3).double() - 1 / 3
    mean, variance = marginals(x, y, points, 0.1, 1.0, SCALES)
    each = [posterior(x, y[:, c], points, 0.1, 1.0, SCALES) for c in range(3)]
    assert torch.allclose(mean, torch.stack([m for m, _ in each], -1))
    scale = variance / each[0][1].diagonal()
    assert torch.allclose(scale, scale[0].expand_as(scale))

    def log_evidence(factor):
        _, covariance = posterior(x[:0], y[:0, 0], x, 0.1, 1.0, SCALES)
        own = factor * (covariance + 0.1 * torch.eye(len(x)))
        law = torch.distributions.MultivariateNormal(torch.zeros(len(x)).double(), own)
        return law.log_prob(y.T).sum()

    assert log_evidence(scale[0]) > max(log_evidence(0.9 * scale[0]), log_evidence(1.1 * scale[0]))


def test_it_learns_is_unsure_far_away_and_a_lane_is_its_own(toy, fit):
    task = toy()
    data = replace(task.data([3, 4]), validation=task.data([53, 54]))
    last = replace(task.data([4]), validation=task.data([54]))
    both = fit(NNGP, NNGPConfig(), task, data, seeds=[3, 4])
    alone = fit(NNGP, NNGPConfig(), task, last, seeds=[4])
    known = both.known.float()
    said = both.predict(known)
    assert torch.equal(said.probs[1:], alone.predict(known[1:]).probs)
    right = said.probs.argmax(-1) == data.targets
    assert right.double().mean() > 0.9
    assert both.predict(20 * known).epistemic.mean() > 2 * said.epistemic.mean()
    assert said.members is None


def test_labels_by_chance_have_their_chance(toy, fit):
    """Values are about .7, .3 and 0 there; at the sharpest .2 the first had .86."""
    n, generator = 400, torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 1, n, 2, generator=generator)
    drawn, held = map(Data, inputs, (torch.rand(2, 1, n, generator=generator) < 0.3).long())
    drawn = replace(drawn, validation=held)
    estimator = fit(NNGP, NNGPConfig(weight_decay=1.0), toy(), drawn, seeds=[3])
    assert float(estimator.predict(inputs[1]).probs[..., 0].mean()) == pytest.approx(0.7, abs=0.06)
    assert 0.2 < float(estimator.temperature[0]) < 4


def test_a_classification_with_validation_data_is_expected(toy, fit):
    with pytest.raises(ValueError, match=r"in setting \(a\) with validation data"):
        fit(NNGP, NNGPConfig(), toy())
