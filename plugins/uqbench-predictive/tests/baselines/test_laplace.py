"""The Laplace approximation against exact posteriors."""

import pytest
import torch
from uqbench_predictive.baselines.laplace import (
    LOG10_PRECISIONS,
    Laplace,
    LaplaceConfig,
    class_curvature,
    log_evidence,
)

from uqbench.estimator import Data

CPU = torch.device("cpu")


def test_laplaces_curvature_is_the_hessian_of_the_loss_in_the_logits():
    logits = torch.randn(1, 1, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda z: -z.log_softmax(-1)[2], logits.flatten())
    assert torch.allclose(class_curvature(logits)[0], hessian)


def test_laplace_of_a_linear_regression_is_its_exact_posterior(toy, points):
    # one layer, a squared loss: the posterior is normal, and Kronecker's factors are exact
    task = toy(0)
    estimator = Laplace(task.problem, [3], LaplaceConfig(hidden=(), noise_precision=5.0), CPU)
    estimator.fit(task.data([3]), None, steps=200)
    phi = torch.cat([task.data([3]).inputs[0], torch.ones(24, 1)], 1).double()
    x = torch.cat([points, torch.ones(7, 1)], 1).double()
    covariance = torch.linalg.inv(5.0 * phi.T @ phi + estimator.precision[0] * torch.eye(3))
    expected = (x @ covariance * x).sum(-1)
    assert torch.allclose(estimator.predict(points[None]).epistemic[0], expected)


def test_the_evidence_of_a_linear_regression_is_its_marginal_likelihood():
    phi = torch.randn(24, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = phi @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.3
    noise, prior = 5.0, 0.7
    precision = noise * phi.T @ phi + prior * torch.eye(3)
    w = torch.linalg.solve(precision, noise * phi.T @ y)
    likelihood = torch.distributions.Normal(phi @ w, noise**-0.5).log_prob(y).sum()
    spectrum = noise * torch.linalg.eigvalsh(phi.T @ phi)
    ours = log_evidence(likelihood[None], w.square().sum()[None], spectrum[None, :, None], prior)
    covariance = torch.eye(24) / noise + phi @ phi.T / prior
    exact = torch.distributions.MultivariateNormal(torch.zeros(24).double(), covariance).log_prob(y)
    assert ours.item() == pytest.approx(exact.item())


def test_the_precision_that_validation_picks_has_the_best_likelihood_on_those_data(toy):
    task, config = toy(), LaplaceConfig(hidden=(8,), precision="validation")
    data = task.data([3])
    held = task.data([4])
    estimator = Laplace(task.problem, [3], config, CPU)
    estimator.fit(Data(data.inputs, data.targets, held), None, steps=60)
    found = estimator._validation_loss(held)[0]
    assert estimator.precision[0] == 10 ** LOG10_PRECISIONS[found.argmin()]
    # without a spread the likelihood is the network's own
    own = -estimator.network(estimator.weights, held.inputs).double().log_softmax(-1)
    expected = own.gather(-1, held.targets[..., None]).mean()
    widest, narrowest = found[0], found[-1]
    assert narrowest.item() == pytest.approx(expected.item(), rel=1e-3)
    assert abs(widest.item() - expected.item()) > 0.01
    with pytest.raises(ValueError, match="this task has none; set precision = 'evidence'"):
        estimator.fit(data, None, steps=1)
