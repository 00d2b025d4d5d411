"""A Gaussian process by the evidence, against scikit-learn's."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from uqbench_predictive.baselines import gaussian_process
from uqbench_predictive.baselines.gaussian_process import (
    LENGTHS,
    VARIANCES,
    GaussianProcess,
    GaussianProcessConfig,
    laws,
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
    found = laws(known.x, known.y, NOISE)
    for k in (0, 40, 77, 132):
        length, variance = found.kernels[k].tolist()
        kernel = ConstantKernel(variance) * RBF(length)
        model = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None).fit(known.x, known.y)
        theirs = model.predict(known.points, return_cov=True)
        for our, their in zip(found.function(k, known.x, known.points), theirs, strict=True):
            np.testing.assert_allclose(our, their, atol=1e-8)
    np.testing.assert_allclose(found.evidence, evidences(model), atol=1e-8)


def test_classes_have_the_evidence_and_the_latent_mean_of_scikit_learn(known):
    found = laws(known.x, known.labels, None)
    for k in (40, 77):
        length, variance = found.kernels[k].tolist()
        kernel = ConstantKernel(variance) * RBF(length)
        model = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=200)
        theirs = model.fit(known.x, known.labels).latent_mean_and_variance(known.points)
        mean, covariance = found.function(k, known.x, known.points)
        np.testing.assert_allclose(mean, theirs[0], atol=1e-4)
        np.testing.assert_allclose(covariance.diagonal(), theirs[1], atol=1e-4)
    there = found.evidence.isfinite()
    assert there.double().mean() > 0.9
    np.testing.assert_allclose(found.evidence[there], evidences(model)[there], atol=1e-3)


def test_kernels_have_draws_by_their_evidence(known, monkeypatch):
    monkeypatch.setattr(gaussian_process, "DRAWN", 100_000)
    found = laws(known.x, known.y, NOISE)
    drawn = found.draws(known.x, known.points, torch.Generator().manual_seed(0))
    shares = (found.evidence - found.evidence.max()).exp()
    shares /= shares.sum()
    each = [found.function(k, known.x, known.points) for k in range(len(shares))]
    mean = sum(share * of for share, (of, _) in zip(shares, each, strict=True))
    second = sum(s * (of.diagonal() + m**2) for s, (m, of) in zip(shares, each, strict=True))
    error = (second - mean**2).sqrt() / 100_000**0.5  # 7 + 7 comparisons at five of these
    assert ((drawn.mean(0) - mean).abs() < 5 * error).all()
    spread = (drawn - mean).square().std(0) / 100_000**0.5
    assert ((drawn.var(0) - second + mean**2).abs() < 5 * spread).all()


@pytest.mark.parametrize("classes", [0, 2])
def test_members_are_what_is_stated_and_each_lane_is_alone(known, classes):
    problem = Problem((2,), classes, None if classes else NOISE)
    targets = known.labels.long() if classes else known.y
    flipped = 1 - targets if classes else -targets

    def said(seeds, *targets):
        own = GaussianProcess(problem, seeds, GaussianProcessConfig(), torch.device("cpu"))
        own.fit(Data(known.x.expand(len(seeds), -1, -1), torch.stack(targets), None), None, 0)
        return own.predict(known.points.expand(len(seeds), -1, -1))

    both, alone = said([1, 2], targets, flipped), said([2], flipped)
    assert torch.equal(both.members[:, 1:], alone.members)
    stated = both.probs if classes else both.mean[..., None]
    assert torch.allclose(both.members.mean(0), stated)
    if not classes:
        assert torch.equal(both.total, both.epistemic + NOISE)


def test_what_it_cannot_know_is_refused():
    for classes, noise, got in ((3, None, "got 3"), (0, None, "values of unknown noise")):
        with pytest.raises(ValueError, match=got):
            GaussianProcess(
                Problem((2,), classes, noise), [0], GaussianProcessConfig(), torch.device("cpu")
            )
