"""Regression with a known posterior: a Gaussian process, the law of wide networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor

from uqbench.contract.estimator import PredictiveUncertainty
from uqbench_predictive.problems.infinite_width import kernel, posterior
from uqbench_predictive.problems.testbed import TOGETHER, Testbed
from uqbench_predictive.uncertainty import gaussian_divergence

NOISE_VAR = 0.09
"""The targets' noise."""
SCALES = (2.0, 2.0)
"""Two hidden layers of ReLUs; weights have variance 2 / inputs of the layer, biases 1."""
AGREEMENT = 1e-2
"""How far the members may be from the mean (squared) and variance, as shares of the total."""
JITTER = 1e-10
"""On the diagonal of a covariance from which a function is drawn."""
DRAWN = 200
"""Members of the exact prediction."""


@dataclass(frozen=True, kw_only=True)
class KnownRegressionConfig:
    """Which problems.

    Attributes:
        width: D, of the inputs.
        points: for training; half as many are for validation.
    """

    width: int = 1
    points: int = 20

    def __post_init__(self) -> None:
        if min(self.width, self.points // 2) < 1:
            raise ValueError(
                f"expected a width of at least 1 and at least 2 points, got {self.width} and "
                f"{self.points}"
            )


class GaussianProcess:
    """The posterior of functions given noisy targets, ``[n, D]`` and ``[n]``."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs, self.targets = inputs.double(), targets.double()

    def function(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean ``[M]`` and covariance ``[M, M]`` of the function at ``[M, D]``."""
        return posterior(
            self.inputs, self.targets, inputs, NOISE_VAR, 2 / self.inputs.shape[1], SCALES
        )

    def predict(self, inputs: Tensor, generator: torch.Generator) -> PredictiveUncertainty:
        """The exact prediction; its members have the exact mean and covariance."""
        mean, covariance = self.function(inputs)
        count = len(mean)
        drawn = torch.randn(max(DRAWN, 2 * count), count, generator=generator, dtype=torch.float64)
        drawn -= drawn.mean(0)
        own = torch.linalg.cholesky(drawn.T @ drawn / len(drawn))
        white = torch.linalg.solve_triangular(own, drawn.T, upper=False)
        members = mean + (root(covariance) @ white).T
        variance = covariance.diagonal().clamp(min=0)
        noise = torch.full_like(mean, NOISE_VAR)
        return PredictiveUncertainty(
            variance + noise,
            noise,
            variance,
            None,
            "variance",
            mean=mean,
            members=members[..., None],
        )

    def divergences(self, inputs: Tensor, said: PredictiveUncertainty) -> tuple[Tensor, ...]:
        """Divergences of normals with the method's mean and variance, and the problem's noise.

        As in the neural testbed the noise is known: a method's own estimate of it is not scored.
        The joint normal has the covariance of the members. With τ/2 targets at an input only their
        mean depends on the function; how they scatter about it is the noise's, which is known.

        Raises:
            ValueError: the method predicts no mean and variances, or its members have others.
        """
        if said.mean is None or said.unit != "variance":
            raise ValueError("expected a mean and variances from an estimator of a regression")
        mean, covariance = self.function(inputs)
        theirs = said.epistemic.clamp(min=0) + NOISE_VAR
        each = gaussian_divergence(mean, covariance.diagonal() + NOISE_VAR, said.mean, theirs)
        pairs = [slice(first, first + 2) for first in range(0, len(mean), 2)]
        if said.members is None:
            alone = each + 0.5 * (covariance.diagonal() + NOISE_VAR).log()
            own = [covariance[pair, pair] for pair in pairs]
            return each, *(τ / 2 * (alone[::2] + alone[1::2]) - log_root(own, τ) for τ in TOGETHER)
        away = said.members[..., 0] - said.mean
        off = torch.stack([away.mean(0).square(), away.var(0, correction=0) - said.epistemic]).abs()
        if (off > AGREEMENT * theirs).any():
            raise ValueError("expected members whose mean and variance are what the method states")
        together = []
        for τ in TOGETHER:
            noise = NOISE_VAR / (τ / 2) * torch.eye(2, dtype=torch.float64)  # of the mean target
            found = []
            for pair in pairs:
                apart = said.members[:, pair, 0] - said.members[:, pair, 0].mean(0)
                spread = apart.T @ apart / len(apart) + noise
                exact = covariance[pair, pair] + noise
                found.append(normal_divergence(mean[pair], exact, said.mean[pair], spread))
            together.append(torch.stack(found))
        return each, *together


def log_root(covariances: Sequence[Tensor], count: int) -> Tensor:
    """``½ log det Σ`` of τ noisy targets, half of them at each of two inputs, for each pair.

    Args:
        covariances: of the function at a pair's inputs, ``[2, 2]`` each.
        count: τ.
    """
    eye = torch.eye(2, dtype=torch.float64)
    of_means = torch.stack([NOISE_VAR * eye + count / 2 * own for own in covariances])
    return 0.5 * ((count - 2) * log(NOISE_VAR) + torch.logdet(of_means))


class KnownRegression(Testbed[GaussianProcess]):
    """Functions of infinitely wide networks, with noise: their posterior is a Gaussian process."""

    law = "known-regression"
    n_classes = 0
    noise_var = NOISE_VAR

    def __init__(self, config: KnownRegressionConfig) -> None:
        self.config = config
        self.inputs = (config.width,)

    @property
    def name(self) -> str:
        """With the width and the number of points."""
        return f"{self.law}-{self.config.width}-{self.config.points}"

    @property
    def sizes(self) -> tuple[int, int]:
        """Half as many for validation."""
        return self.config.points, self.config.points // 2

    def targets(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """A function drawn from the process, and noise."""
        covariance = kernel(inputs, inputs, 2 / self.config.width, SCALES)
        function, noise = torch.randn(2, len(inputs), generator=generator, dtype=torch.float64)
        drawn: Tensor = root(covariance) @ function + NOISE_VAR**0.5 * noise
        return drawn

    def posterior(self, inputs: Tensor, targets: Tensor) -> GaussianProcess:
        """In closed form."""
        return GaussianProcess(inputs, targets)


def root(covariance: Tensor) -> Tensor:
    """Its Cholesky factor, with a little on the diagonal, without which rounding may decide."""
    jitter = JITTER * covariance.diagonal().max() * torch.eye(len(covariance), dtype=torch.float64)
    factor: Tensor = torch.linalg.cholesky(covariance + jitter)
    return factor


def normal_divergence(mean_p: Tensor, cov_p: Tensor, mean_q: Tensor, cov_q: Tensor) -> Tensor:
    """``KL[N(μ_p, Σ_p) ‖ N(μ_q, Σ_q)]``, of ``[τ]`` and ``[τ, τ]``."""
    factor_p, factor_q = torch.linalg.cholesky(cov_p), torch.linalg.cholesky(cov_q)
    trace = torch.linalg.solve_triangular(factor_q, factor_p, upper=False).square().sum()
    apart = torch.linalg.solve_triangular(factor_q, (mean_p - mean_q)[:, None], upper=False)
    determinants = factor_q.diagonal().log().sum() - factor_p.diagonal().log().sum()
    value: Tensor = 0.5 * (trace + apart.square().sum() - len(mean_p)) + determinants
    return value
