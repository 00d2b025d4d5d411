"""The Gaussian process of infinite networks as a classifier."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import one_hot
from uqbench_predictive.baselines.nngp import NNGP, NNGPConfig
from uqbench_predictive.problems.infinite_width import marginals, posterior

CPU = torch.device("cpu")
SCALES = (2.0, 2.0)


def held(task, seeds):
    """The problem's data, of which a further seed's validate."""
    data = task.data(seeds)
    return replace(data, validation=task.data([seed + 50 for seed in seeds]))


def fitted(task, seeds, **config):
    estimator = NNGP(task.problem, seeds, NNGPConfig(**config), CPU)
    estimator.fit(held(task, seeds), None, 0)
    return estimator


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
        law = torch.distributions.MultivariateNormal(
            torch.zeros(len(x)).double(), factor * (covariance + 0.1 * torch.eye(len(x)))
        )
        return law.log_prob(y.T).sum()

    best = log_evidence(scale[0])
    assert best > max(log_evidence(0.9 * scale[0]), log_evidence(1.1 * scale[0]))


def test_it_learns_is_unsure_far_away_and_a_lane_is_its_own(toy):
    task = toy()
    both, alone = fitted(task, [3, 4]), fitted(task, [4])
    known = both.known.float()
    said = both.predict(known)
    assert torch.equal(said.probs[1:], alone.predict(known[1:]).probs)
    right = said.probs.argmax(-1) == task.data([3, 4]).targets
    assert right.double().mean() > 0.9
    far = both.predict(20 * known)
    assert far.epistemic.mean() > 2 * said.epistemic.mean()
    assert said.members is None


def test_labels_by_chance_have_their_chance(toy):
    """Values are about .7, .3 and 0 there; at the sharpest .2 the first had .86."""
    task, n = toy(), 400
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 1, n, 2, generator=generator)
    targets = (torch.rand(2, 1, n, generator=generator) < 0.3).long()
    data = task.data([3])
    drawn = replace(data, inputs=inputs[0], targets=targets[0],
                    validation=replace(data, inputs=inputs[1], targets=targets[1]))  # fmt: skip
    estimator = NNGP(task.problem, [3], NNGPConfig(weight_decay=1.0), CPU)
    estimator.fit(drawn, None, 0)
    assert float(estimator.predict(inputs[1]).probs[..., 0].mean()) == pytest.approx(0.7, abs=0.06)
    assert 0.2 < float(estimator.temperature[0]) < 4


def test_a_classification_with_validation_data_is_expected(toy):
    with pytest.raises(ValueError, match=r"in setting \(a\) with validation data"):
        NNGP(toy().problem, [3], NNGPConfig(), CPU).fit(toy().data([3]), None, 0)
