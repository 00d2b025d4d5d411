"""The Laplace approximation against exact posteriors and laplace-torch (Daxberger et al. 2021).

That library is an optional extra. Against it: one affine layer on centered inputs; laplace-torch
has no factor between a layer's weights and its bias, and there it is zero. Its numbers are also
recorded, so that they are checked without it.
"""

from collections.abc import Sequence

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from uqbench_predictive.baselines import laplace
from uqbench_predictive.baselines.laplace import LOG10_PRECISIONS, Laplace, LaplaceConfig
from uqbench_predictive.networks.architectures import HEAD, Mlp
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.testing import Toy

from uqbench.estimator import Data

PRECISION = 2.0
POINTS = torch.tensor([[[1.0, -2.0, 0.5], [4.0, 0.0, 0.0]]])


def test_laplaces_curvature_is_the_hessian_of_the_loss_in_the_logits():
    logits = torch.randn(1, 1, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hessian = torch.autograd.functional.hessian(lambda z: -z.log_softmax(-1)[2], logits.flatten())
    assert torch.allclose(laplace.class_curvature(logits)[0], hessian)


def test_laplace_of_a_linear_regression_is_its_exact_posterior(toy, points, fit, line):
    # one layer, a squared loss: the posterior is normal, and Kronecker's factors are exact
    task, config = toy(0), LaplaceConfig(hidden=(), noise_precision=5.0)
    estimator = fit(Laplace, config, task, seeds=[3], steps=200)
    _, expected = line(task.data([3]), 5.0, estimator.precision[0])
    assert torch.allclose(estimator.predict(points[None]).epistemic[0], expected)


def test_the_evidence_of_a_linear_regression_is_its_marginal_likelihood():
    phi = torch.randn(24, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = phi @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.3
    noise, prior = 5.0, 0.7
    precision = noise * phi.T @ phi + prior * torch.eye(3)
    w = torch.linalg.solve(precision, noise * phi.T @ y)
    likelihood = torch.distributions.Normal(phi @ w, noise**-0.5).log_prob(y).sum()
    spectrum = noise * torch.linalg.eigvalsh(phi.T @ phi)
    square, spectrum = w.square().sum()[None], spectrum[None, :, None]
    ours = laplace.log_evidence(likelihood[None], square, spectrum, prior)
    covariance = torch.eye(24) / noise + phi @ phi.T / prior
    exact = torch.distributions.MultivariateNormal(torch.zeros(24).double(), covariance).log_prob(y)
    assert ours.item() == pytest.approx(exact.item())


def test_the_precision_that_validation_picks_has_the_best_likelihood_on_those_data(toy, fit):
    task, config = toy(), LaplaceConfig(hidden=(8,), precision="validation")
    data, held = task.data([3]), task.data([4])
    given = Data(data.inputs, data.targets, held)
    estimator = fit(Laplace, config, task, given, seeds=[3], steps=60)
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


def test_a_reference_model_with_closed_weights_is_rejected_with_an_alternative(toy, fit):
    class Closed:
        def log_probs(self, inputs):
            return inputs.double().log_softmax(-1)

    task = toy()
    task.reference_model = lambda seeds: Closed()
    with pytest.raises(TypeError, match=r"open weights.*got a Closed; use .* deep-ensemble"):
        fit(Laplace, LaplaceConfig(hidden=(8,)), task)


class Centered(Toy):
    """Forty points, four classes, and a reference model fitted to them roughly."""

    inputs = (3,)

    def data(self, seeds: Sequence[int]) -> Data:
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(1, 40, 3, generator=generator)
        weights = self.reference_model(seeds).weights
        y = (x @ weights[HEAD[0]] + torch.randn(1, 40, 4, generator=generator)).argmax(-1)
        return Data(x - x.mean(1, keepdim=True), y)

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork:
        weight = torch.tensor([[1.0, -1.0, 0.5, 0.0], [0.0, 1.0, -0.5, 0.5], [0.5, 0.0, -1.0, 1.0]])
        bias = torch.tensor([[0.1, -0.2, 0.3, 0.0]])
        return ReferenceNetwork(Mlp(3, (), 4), {HEAD[0]: weight[None], HEAD[1]: bias[None]})


@pytest.fixture
def ours(fit) -> Laplace:
    return fit(Laplace, LaplaceConfig(hidden=()), Centered(4), seeds=[0])


def evidence(estimator: Laplace, precision: float) -> float:
    """The log marginal likelihood at a precision of the prior."""
    data = Centered(4).data([0])
    weights = torch.cat([estimator.weights[name].flatten(1) for name in HEAD], 1).double()
    likelihood = -estimator.noise_var * data.targets.shape[1]
    squares = weights.square().sum(-1)
    return laplace.log_evidence(likelihood, squares, estimator.spectrum, precision).item()


def covariances(estimator: Laplace, precision: float) -> torch.Tensor:
    """Of the logits at the points, ``[M, C, C]``."""
    features, _ = estimator._outputs(POINTS)
    variances = estimator._output_variances(features, torch.tensor([precision]).double())[0]
    vectors = estimator.output_vectors[0]
    return (vectors * variances[:, None, :]) @ vectors.T


def closest(estimator: Laplace, precision: float) -> bool:
    """Whether the estimator's own choice is the grid's closest to a precision."""
    step = LOG10_PRECISIONS[1] - LOG10_PRECISIONS[0]
    distance = estimator.precision.log10() - torch.tensor(precision).log10()
    return bool(distance.abs() <= step / 2 + 1e-3)


def test_evidence_and_variances_are_those_that_laplace_torch_gave(ours):
    # laplace-torch 0.2.2.2, curvlinops-for-pytorch 2.0.1
    assert closest(ours, 1.5762)
    assert evidence(ours, PRECISION) == pytest.approx(-51.48700, abs=1e-4)
    expected = [[1.4127, 1.4360, 1.4084, 1.3950], [3.6006, 3.6588, 3.5895, 3.5559]]
    variances = covariances(ours, PRECISION).diagonal(dim1=1, dim2=2)
    assert torch.allclose(variances, torch.tensor(expected).double(), atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_evidence_and_variances_are_those_of_laplace_torch(ours):
    library = pytest.importorskip("laplace", reason="pip install uqbench-predictive[laplace]")
    reference, data = ours.trainer.task.reference_model([0]), ours.trainer.task.data([0])
    layer = nn.Linear(3, 4)
    with torch.no_grad():
        layer.weight.copy_(reference.weights[HEAD[0]][0].T)
        layer.bias.copy_(reference.weights[HEAD[1]][0, 0])
    how = {"subset_of_weights": "all", "hessian_structure": "kron", "prior_precision": PRECISION}
    theirs = library.Laplace(layer, "classification", **how)
    theirs.fit(DataLoader(TensorDataset(data.inputs[0], data.targets[0]), batch_size=40))
    _, variance = theirs._glm_predictive_distribution(POINTS[0])
    marginal = theirs.log_marginal_likelihood().item()
    theirs.optimize_prior_precision(method="marglik", n_steps=1000, lr=0.05)
    assert closest(ours, theirs.prior_precision.item())
    assert evidence(ours, PRECISION) == pytest.approx(marginal, 1e-5)
    assert torch.allclose(covariances(ours, PRECISION), variance.double(), rtol=1e-4, atol=1e-5)
