"""A Gaussian process by the evidence, against scikit-learn's."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from uqbench_predictive.baselines.gaussian_process import (
    LENGTHS,
    VARIANCES,
    GaussianProcess,
    GaussianProcessConfig,
    law,
)

from uqbench.estimator import Data, Problem

NOISE = 0.09


@pytest.fixture(scope="module")
def known():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    y = (2 * x[:, 0]).sin() + 0.3 * torch.randn(40, generator=generator, dtype=torch.float64)
    points = torch.randn(7, 2, generator=generator, dtype=torch.float64)
    return SimpleNamespace(x=x, y=y, points=points, labels=(y > 0).double())


def evidences(model) -> np.ndarray:
    """Of the whole grid, by scikit-learn."""
    grid = torch.cartesian_prod(LENGTHS * 2**0.5, VARIANCES).log()
    return np.array([model.log_marginal_likelihood(one.numpy()[::-1]) for one in grid])


def test_values_have_the_mean_the_covariance_and_the_evidence_of_scikit_learn(known):
    found = law(known.x, known.y, NOISE)
    kernel = ConstantKernel(found.variance) * RBF(found.length)
    model = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(known.x, known.y)
    mean, covariance = model.predict(known.points, return_cov=True)
    ours = found.function(known.x, known.points)
    np.testing.assert_allclose(ours[0], mean, atol=1e-9)
    np.testing.assert_allclose(ours[1], covariance, atol=1e-9)
    every = evidences(model)
    assert found.evidence == pytest.approx(every.max(), abs=1e-8)
    assert (every.max() - every > 1).any()


def test_classes_have_the_evidence_and_the_latent_mean_of_scikit_learn(known):
    found = law(known.x, known.labels, None)
    kernel = ConstantKernel(found.variance) * RBF(found.length)
    model = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=200)
    model.fit(known.x, known.labels)
    theirs = model.latent_mean_and_variance(known.points)
    mean, covariance = found.function(known.x, known.points)
    np.testing.assert_allclose(mean, theirs[0], atol=1e-4)
    np.testing.assert_allclose(covariance.diagonal(), theirs[1], atol=1e-4)
    assert found.evidence == pytest.approx(evidences(model).max(), abs=1e-4)


@pytest.mark.parametrize("classes", [0, 2])
def test_members_agree_with_what_is_stated_and_each_lane_is_alone(known, classes):
    problem = Problem((2,), classes, None if classes else NOISE)
    targets = known.labels.long() if classes else known.y
    flipped = 1 - targets if classes else -targets

    def said(seeds, *targets):
        own = GaussianProcess(problem, seeds, GaussianProcessConfig(), torch.device("cpu"))
        own.fit(Data(known.x.expand(len(seeds), -1, -1), torch.stack(targets), None), None, 0)
        return own.predict(known.points.expand(len(seeds), -1, -1))

    both, alone = said([1, 2], targets, flipped), said([2], flipped)
    assert torch.equal(both.members[:, 1:], alone.members)
    if classes:
        assert torch.allclose(both.members.mean(0), both.probs)
        return
    mean, covariance = law(known.x, known.y, NOISE).function(known.x, known.points)
    drawn = both.members[:, 0, :, 0]
    assert torch.allclose(drawn.mean(0), mean)
    assert torch.allclose(drawn.T.cov(correction=0), covariance, atol=1e-6)
    assert torch.allclose(both.total[0], covariance.diagonal() + NOISE, atol=1e-6)


def test_what_it_cannot_know_is_refused():
    for classes, noise, got in ((3, None, "got 3"), (0, None, "values of unknown noise")):
        with pytest.raises(ValueError, match=got):
            GaussianProcess(
                Problem((2,), classes, noise), [0], GaussianProcessConfig(), torch.device("cpu")
            )
