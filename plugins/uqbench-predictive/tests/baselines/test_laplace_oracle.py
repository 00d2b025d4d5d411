"""Laplace's approximation against laplace-torch (Daxberger et al. 2021), an optional extra.

One affine layer on centered inputs: laplace-torch has no factor between a layer's weights and its
bias, and there it is zero. Its numbers are also recorded, so that they are checked without it.
"""

from collections.abc import Sequence

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from uqbench_predictive.baselines.laplace import (
    LOG10_PRECISIONS,
    Laplace,
    LaplaceConfig,
    log_evidence,
)
from uqbench_predictive.networks.architectures import HEAD, Mlp
from uqbench_predictive.networks.reference import ReferenceNetwork

from uqbench.estimator import Data, Dataset

PRECISION = 2.0
POINTS = torch.tensor([[[1.0, -2.0, 0.5], [4.0, 0.0, 0.0]]])


class Centered(Dataset):
    """Forty points, four classes, and a reference model fitted to them roughly."""

    inputs = (3,)
    n_classes = 4

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

    def evaluation_sets(self, seeds):
        raise NotImplementedError


@pytest.fixture
def ours() -> Laplace:
    task = Centered()
    estimator = Laplace(task.problem, [0], LaplaceConfig(hidden=()), torch.device("cpu"))
    estimator.fit(task.data([0]), task.reference_model([0]), steps=1)
    return estimator


def evidence(estimator: Laplace, precision: float) -> float:
    """The log marginal likelihood at a precision of the prior."""
    data = Centered().data([0])
    weights = torch.cat([estimator.weights[name].flatten(1) for name in HEAD], 1).double()
    likelihood = -estimator.noise_var * data.targets.shape[1]
    return log_evidence(likelihood, weights.square().sum(-1), estimator.spectrum, precision).item()


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
    expected = torch.tensor(
        [[1.4127, 1.4360, 1.4084, 1.3950], [3.6006, 3.6588, 3.5895, 3.5559]], dtype=torch.float64
    )
    variances = covariances(ours, PRECISION).diagonal(dim1=1, dim2=2)
    assert torch.allclose(variances, expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_evidence_and_variances_are_those_of_laplace_torch(ours):
    library = pytest.importorskip("laplace", reason="pip install uqbench-predictive[laplace]")
    reference, data = ours.trainer.task.reference_model([0]), ours.trainer.task.data([0])
    layer = nn.Linear(3, 4)
    with torch.no_grad():
        layer.weight.copy_(reference.weights[HEAD[0]][0].T)
        layer.bias.copy_(reference.weights[HEAD[1]][0, 0])
    theirs = library.Laplace(
        layer,
        "classification",
        subset_of_weights="all",
        hessian_structure="kron",
        prior_precision=PRECISION,
    )
    theirs.fit(DataLoader(TensorDataset(data.inputs[0], data.targets[0]), batch_size=40))
    _, variance = theirs._glm_predictive_distribution(POINTS[0])
    marginal = theirs.log_marginal_likelihood().item()
    theirs.optimize_prior_precision(method="marglik", n_steps=1000, lr=0.05)
    assert closest(ours, theirs.prior_precision.item())
    assert evidence(ours, PRECISION) == pytest.approx(marginal, 1e-5)
    assert torch.allclose(covariances(ours, PRECISION), variance.double(), rtol=1e-4, atol=1e-5)
