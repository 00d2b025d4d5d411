"""Laplace approximation of the last layer, Kronecker-factored (Daxberger et al. 2021).

The posterior of the last layer's weights is a normal around the trained ones. Its precision is the
generalized Gauss-Newton matrix in Kronecker factors, ``n A ⊗ G + δ 1``, with ``A`` the mean outer
product of the features (a one appended for the bias) and ``G`` the mean Hessian of the loss in the
logits; the prior precision δ maximizes the marginal likelihood, or the likelihood of validation
data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log, pi
from typing import Literal

import torch
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.networks.architectures import HEAD
from uqbench_predictive.networks.learning import losses, mean_loss
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.uncertainty import classification, regression, values

LOG10_PRECISIONS = torch.linspace(-4, 4, 161, dtype=torch.float64)
"""The grid on which the prior precision is searched."""


@dataclass(frozen=True, kw_only=True)
class LaplaceConfig(TrainingConfig):
    """Laplace approximation of the last layer.

    Attributes:
        samples: of the logits at a point, for its probabilities, or of the last layer.
        precision: how the prior precision is chosen: by ``evidence``, the marginal likelihood, or
            by ``validation``, the likelihood of the problem's validation data, as laplace-torch's
            grid search does; or it is the ``decay``, ``weight_decay`` where it is a precision.
        noise_precision: of a regression's targets, ``1/σ²``, where the problem does not tell it.
        shared: whether all inputs are predicted by the same draws of the last layer, which are
            models of them together; otherwise logits are drawn at each input by itself.
    """

    samples: int = 1000
    precision: Literal["evidence", "validation", "decay"] = "evidence"
    noise_precision: float = 10.0
    shared: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        if self.precision == "decay" and not self.posterior:
            raise ValueError("precision = 'decay' needs posterior = true: weight_decay is then λ")
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples}")


class Laplace(Estimator):
    """A normal over the last layer's weights, Kronecker-factored.

    Centered at the reference model, or at a trained network.

    Source: Daxberger et al. 2021
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: LaplaceConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)
        known = problem.noise_var
        self.config = config if known is None else replace(config, noise_precision=1 / known)

    @torch.no_grad()
    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Find the network, its curvature and the prior precision."""
        trainer = self.trainer
        data = trainer.to_device(data)
        with torch.enable_grad():
            self.network, self.weights = trainer.reference_or_trained(data, reference_model, steps)
        self.reference_model = reference_model
        self.noise_var = mean_loss(self.network, self.weights, data)
        features, outputs = self._outputs(data.inputs)
        rows = losses(outputs, data.targets.double() if trainer.regression else data.targets)
        curvature = (
            torch.full((len(outputs), 1, 1), self.config.noise_precision, dtype=torch.float64)
            if trainer.regression
            else class_curvature(outputs)
        ).to(trainer.device)
        n = data.targets.shape[1]
        outer = features.mT @ features / n
        self.feature_values, self.feature_vectors = torch.linalg.eigh(outer)
        self.output_values, self.output_vectors = torch.linalg.eigh(curvature)
        self.spectrum = n * (
            self.feature_values.clamp(min=0)[:, :, None] * self.output_values.clamp(min=0)[:, None]
        )  # [L, H + 1, C]
        if self.config.precision == "decay":  # δ, [L]
            self.precision = torch.full((len(outputs),), self.config.weight_decay).double()
        else:
            scores = (
                self._log_evidence(rows.sum(-1), n)
                if self.config.precision == "evidence"
                else -self._validation_loss(data.validation)
            )
            self.precision = 10 ** LOG10_PRECISIONS.to(trainer.device)[scores.argmax(-1)]
        self.noise_var = trainer.noise_var(data, self.noise_var, self.predict)

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """``E softmax(f)``, ``f ~ N(f_MAP, J Σ Jᵀ)``; for a regression the variance.

        Where logits are drawn at each input by itself there are no members.
        """
        x = inputs.to(self.trainer.device)
        features, mean = self._outputs(x)
        if self.config.shared:
            outputs = (mean + self._moved(features)).cpu()
            if self.trainer.regression:
                return regression(outputs.squeeze(-1), self._noise_var()[:, None])
            return classification(self.reference_model, inputs, outputs)
        variances = self._output_variances(features, self.precision)
        if self.trainer.regression:
            center, spread = (part.squeeze(-1).cpu() for part in (mean, variances))
            return values(center, spread, self._noise_var()[:, None])
        noise = self._noise(mean.shape[1])
        scaled = noise * variances.sqrt()
        logits = mean + (scaled.unsqueeze(-2) @ self.output_vectors.mT.unsqueeze(1)).squeeze(-2)
        said = classification(self.reference_model, inputs, logits.cpu())
        return replace(said, members=None)

    def _noise_var(self) -> Tensor:
        """That of the problem, or of the training residuals, ``[L]``."""
        known = self.trainer.problem.noise_var
        return self.noise_var.cpu() if known is None else torch.full((len(self.noise_var),), known)

    def _moved(self, features: Tensor) -> Tensor:
        """``φ (W − W_MAP)`` of draws W of the last layer: ``[L, M, H + 1] -> [samples, L, M, C]``.

        ``W − W_MAP = U Z Vᵀ`` with independent ``Z ~ N(0, 1/(λ + δ))`` along the eigenvectors.
        """
        std = (self.spectrum + self.precision[:, None, None]).rsqrt()
        shape = (self.config.samples, *std.shape[1:])
        drawn = [
            torch.randn(shape, generator=g, dtype=torch.float64)
            for g in self.trainer.generators("last layer")
        ]
        along = torch.stack(drawn, 1).to(std) * std
        moved: Tensor = (features @ self.feature_vectors) @ along @ self.output_vectors.mT
        return moved

    def _log_evidence(self, loss: Tensor, n: int) -> Tensor:
        """The marginal likelihood at every precision of the grid, ``[L, grid]``."""
        weights = torch.cat([self.weights[name].flatten(1) for name in HEAD], 1).double()
        noise = self.config.noise_precision
        log_likelihood = (
            -0.5 * noise * loss + 0.5 * n * log(noise / (2 * pi))
            if self.trainer.regression
            else -loss
        )
        squared_norm = weights.square().sum(-1)
        return torch.stack(
            [
                log_evidence(log_likelihood, squared_norm, self.spectrum, 10.0**power)
                for power in LOG10_PRECISIONS.tolist()
            ],
            dim=-1,
        )

    def _validation_loss(self, data: Data | None) -> Tensor:
        """Mean negative log-likelihood of the data at every precision, ``[L, grid]``.

        Raises:
            ValueError: there are none.
        """
        if data is None:
            raise ValueError(
                "precision = 'validation' needs validation data, and this task has none; set "
                "precision = 'evidence'"
            )
        features, outputs = self._outputs(data.inputs)
        columns = []
        for power in LOG10_PRECISIONS.tolist():
            along = self._output_variances(features, torch.full((len(outputs),), 10.0**power))
            variances = along @ self.output_vectors.square().mT
            columns.append(negative_log_likelihood(outputs, variances, data, self.config))
        return torch.stack(columns, dim=-1)

    def _outputs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Features with a one appended, ``[L, B, H + 1]``, and outputs ``[L, B, C]``, float64."""
        found, outputs = self.network.features_and_outputs(self.weights, inputs)
        features = found.double()
        return torch.cat([features, torch.ones_like(features[..., :1])], -1), outputs.double()

    def _output_variances(self, features: Tensor, precision: Tensor) -> Tensor:
        """Variances of the logits along the curvature's eigenvectors, ``[L, M, C]``."""
        along = (features @ self.feature_vectors).square()  # [L, M, H + 1]
        variances: Tensor = along @ (1 / (self.spectrum + precision.to(along)[:, None, None]))
        return variances

    def _noise(self, points: int) -> Tensor:
        """Standard normal, ``[samples, L, M, C]``; a function of the seed alone."""
        generators = self.trainer.generators("logits")
        shape = (self.config.samples, points, self.trainer.problem.n_classes)
        lanes = [torch.randn(shape, generator=g, dtype=torch.float64) for g in generators]
        return torch.stack(lanes, dim=1).to(self.trainer.device)


def negative_log_likelihood(
    outputs: Tensor, variances: Tensor, data: Data, config: LaplaceConfig
) -> Tensor:
    """Mean over the data, ``[L]``: of a normal, or of classes by the probit approximation.

    Args:
        outputs: ``[L, M, C]``, float64.
        variances: of each output, ``[L, M, C]``.
        data: ``[L, M]`` targets.
        config: of the approximation.
    """
    if data.targets.is_floating_point():
        variance = variances.squeeze(-1) + 1 / config.noise_precision
        squares = (outputs.squeeze(-1) - data.targets).square()
        return 0.5 * ((2 * pi * variance).log() + squares / variance).mean(-1)
    return losses(outputs / (1 + pi / 8 * variances).sqrt(), data.targets).mean(-1)


def class_curvature(logits: Tensor) -> Tensor:
    """``G = E diag(p) − p pᵀ``, the cross-entropy's mean Hessian: ``[L, n, C] -> [L, C, C]``."""
    probs = logits.softmax(-1)
    return torch.diag_embed(probs.mean(1)) - probs.mT @ probs / probs.shape[1]


def log_evidence(
    log_likelihood: Tensor, squared_norm: Tensor, spectrum: Tensor, precision: float
) -> Tensor:
    """``log p(D|w) − ½ δ ‖w‖² + ½ P log δ − ½ Σ log(λ + δ)``: the marginal likelihood, ``[L]``.

    Args:
        log_likelihood: of the trained weights, ``[L]``.
        squared_norm: of the last layer's weights, ``[L]``.
        spectrum: eigenvalues λ of the Gauss-Newton matrix, ``[L, H + 1, C]``.
        precision: δ.
    """
    flat = spectrum.flatten(1)
    determinant = (flat + precision).log().sum(-1)
    return (
        log_likelihood
        - 0.5 * precision * squared_norm
        + 0.5 * flat.shape[1] * log(precision)
        - 0.5 * determinant
    )
