"""Gaussian processes with squared-exponential kernels of unknown variance and length scale.

A baseline without a network. The kernels of a grid, equally likely before the data, are weighted by
their evidence; the kernel of most evidence alone is too certain after ten points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.problems.known_regression import root as root_of
from uqbench_predictive.uncertainty import classification, regression

LENGTHS = 2 ** torch.arange(-3, 6.5, 0.5, dtype=torch.float64)
"""Length scales, over the square root of the number of inputs."""
VARIANCES = 4 ** torch.arange(-2, 5, dtype=torch.float64)
NEWTON, CLOSE = 50, 1e-6
"""Newton steps to a posterior mode, and the largest last one: else a kernel has no weight."""
DRAWN = 200
"""The number of members."""


@dataclass(frozen=True)
class GaussianProcessConfig:
    """Nothing to configure."""


class GaussianProcess(Estimator):
    """Exact processes for values with known noise; Laplace's approximation for two classes.

    Each member is a draw of a kernel, and of the function at all inputs.

    Source: Rasmussen & Williams 2006, "Gaussian processes for machine learning", algorithms 2.1,
    3.1 and 3.2; equation 5.5 for the shares of the kernels
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: GaussianProcessConfig,
        device: torch.device,
    ) -> None:
        if problem.n_classes not in (0, 2) or (not problem.n_classes and not problem.noise_var):
            raise ValueError(
                "expected two classes, or values whose noise is told; got "
                f"{problem.n_classes or 'values of unknown noise'}"
            )
        self.noise, self.seeds = problem.noise_var if not problem.n_classes else None, seeds

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Weigh the kernels of each lane."""
        self.reference_model, self.inputs = reference_model, data.inputs.flatten(2).double()
        targets = data.targets.double()
        self.laws = [laws(x, y, self.noise) for x, y in zip(self.inputs, targets, strict=True)]

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of drawn functions, and the noise."""
        lanes = []
        for seed, own, found, x in zip(
            self.seeds, self.inputs, self.laws, inputs.flatten(2).double(), strict=True
        ):
            generator = torch.Generator().manual_seed(derive_seed("gaussian-process", seed))
            lanes.append(found.draws(own, x, generator))
        functions = torch.stack(lanes, 1)
        if self.noise is not None:
            return regression(functions, torch.tensor(self.noise, dtype=torch.float64))
        logits = torch.stack([torch.zeros_like(functions), functions], -1)
        return classification(self.reference_model, inputs, logits)


@dataclass(frozen=True)
class Laws:
    """A process given its data, for each of G kernels.

    Attributes:
        kernels: their lengths and variances, ``[G, 2]``.
        evidence: the logarithm of the marginal likelihood, or its approximation, ``[G]``.
        weights: of the kernel with each training input, in the posterior mean, ``[G, n]``.
        root, scale: ``L [G, n, n]`` and ``s [G, n]``, with the posterior covariance ``k(x, x') −
            k(x)ᵀ S (L Lᵀ)⁻¹ S k(x')``, S being the diagonal matrix of s.
    """

    kernels: Tensor
    evidence: Tensor
    weights: Tensor
    root: Tensor
    scale: Tensor

    def function(self, kernel: int, known: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean ``[M]`` and covariance ``[M, M]`` at ``[M, D]``, from training inputs ``[n, D]``."""
        length, variance = self.kernels[kernel]
        across = variance * shape(known, x, length)
        scaled = self.scale[kernel][:, None] * across
        explained = torch.linalg.solve_triangular(self.root[kernel], scaled, upper=False)
        own = variance * shape(x, x, length)
        return across.T @ self.weights[kernel], own - explained.T @ explained

    def draws(self, known: Tensor, x: Tensor, generator: torch.Generator) -> Tensor:
        """Functions ``[S, M]`` at ``[M, D]``, of each kernel as many as its rounded share."""
        shares = self.evidence.softmax(0).cumsum(0)
        first = torch.rand(1, generator=generator, dtype=torch.float64)
        places = (first + torch.arange(DRAWN)) / DRAWN * shares[-1]
        chosen, counts = torch.searchsorted(shares, places).unique(return_counts=True)
        functions = []
        for kernel, count in zip(chosen.tolist(), counts.tolist(), strict=True):
            mean, covariance = self.function(kernel, known, x)
            normal = torch.randn(len(x), count, generator=generator, dtype=torch.float64)
            functions.append(mean + (root_of(covariance) @ normal).T)
        return torch.cat(functions)


def shape(a: Tensor, b: Tensor, length: Tensor | float) -> Tensor:
    """``exp(−|x − x'|² / 2ℓ²)``, of ``[n, D]`` and ``[m, D]``."""
    distance = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    return (-0.5 * (distance / length).square()).exp()


def laws(x: Tensor, y: Tensor, noise: float | None) -> Laws:
    """The processes given ``[n, D]`` and ``[n]``; a noise of None means classes 0 and 1."""
    grid = torch.cartesian_prod(LENGTHS * math.sqrt(x.shape[1]), VARIANCES)
    kernels = grid[:, 1, None, None] * shape(x, x, grid[:, 0, None, None])
    if noise is None:
        return Laws(grid, *laplace(kernels, y))
    root = torch.linalg.cholesky(kernels + noise * torch.eye(len(y), dtype=y.dtype))
    weights = torch.cholesky_solve(y[:, None], root).squeeze(-1)
    log_root = root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    evidence = -0.5 * weights @ y - log_root - 0.5 * len(y) * math.log(2 * math.pi)
    return Laws(grid, evidence, weights, root, torch.ones_like(weights))


def laplace(kernels: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Algorithm 3.1 for each of ``[G, n, n]``: all of :class:`Laws` but the kernels."""
    function, eye = kernels.new_zeros(kernels.shape[:2]), torch.eye(len(y), dtype=y.dtype)
    for _ in range(NEWTON):
        p = function.sigmoid()
        scale = (p * (1 - p)).sqrt()
        root = torch.linalg.cholesky(eye + scale[:, :, None] * kernels * scale[:, None])
        b = scale.square() * function + y - p
        inner = scale * (kernels @ b[..., None]).squeeze(-1)
        weights = b - scale * torch.cholesky_solve(inner[..., None], root).squeeze(-1)
        before, function = function, (kernels @ weights[..., None]).squeeze(-1)
    log_likelihood = logsigmoid((2 * y - 1) * function).sum(-1)
    log_root = root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    evidence = -0.5 * (weights * function).sum(-1) + log_likelihood - log_root
    there = (function - before).abs().amax(-1) < CLOSE
    return evidence.where(there, -math.inf), weights, root, scale
