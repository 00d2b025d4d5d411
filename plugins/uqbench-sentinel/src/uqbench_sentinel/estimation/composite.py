"""Composite, additive and FTRL-weighted risk of a belief, as an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from uqbench.contract.estimator import Data, Estimator, PredictiveUncertainty, Problem
from uqbench.contract.risk.config import CompositeRiskField
from uqbench_sentinel.config import CVAR_OF_CVAR
from uqbench_sentinel.estimation.beliefs import divergences

BINS = 400


@dataclass(frozen=True, kw_only=True)
class CompositeRiskConfig:
    """How the risk of a belief is predicted.

    Attributes:
        risk: ``Risk_E of Risk_A``; a measure alone is additive.
        ftrl_lambda: λ of equation 4; 0 leaves the belief's own weights.
        ftrl_kl: the loss of a model, its divergence from the marginal distribution, or the reverse.
        ftrl_sign: of λ in the exponent: −1 favors models near the marginal distribution.
    """

    risk: CompositeRiskField = CVAR_OF_CVAR
    ftrl_lambda: float = 0.0
    ftrl_kl: Literal["member-to-mix", "mix-to-member"] = "member-to-mix"
    ftrl_sign: Literal[-1, 1] = -1


class CompositeRiskEstimator(Estimator):
    """Composite, additive or FTRL-weighted risk of a given belief.

    ``Risk_E(Risk_A(Z | θ) | β)`` of a belief β; nothing is learned.

    Source: Eriksson et al. 2022, section 4
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: CompositeRiskConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        self.risk = config.risk

    def fit(self, data: Data, reference_model: object, steps: int) -> None:
        """Nothing to learn."""

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The risk of beliefs ``[L, M, K, C, 3]``, lane by lane.

        ``aleatoric`` is the additive risk, ``epistemic`` what the composite one adds to it.
        """
        risks = [self._of(beliefs) for beliefs in inputs]
        total, additive, weights = (torch.stack(part) for part in zip(*risks, strict=True))
        return PredictiveUncertainty(
            total, additive, total - additive, None, "return", weights=weights
        )

    def _of(self, beliefs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Composite and additive risk ``[M]`` and weights ``[M, K]`` of ``[M, K, C, 3]``."""
        joint, means, stds = beliefs.unbind(-1)
        models = joint.sum(-1)
        values = (means[..., None] + stds[..., None] * standard_atoms()).flatten(-2)
        masses = (joint / models[..., None])[..., None].expand(*joint.shape, BINS).flatten(-2)
        aleatoric = self.risk.aleatoric(values, masses)
        weights = models
        if self.config.ftrl_lambda:
            loss = divergences(beliefs, self.config.ftrl_kl)
            scale = self.config.ftrl_sign * self.config.ftrl_lambda
            weights = (models.log() + scale * loss).softmax(-1)
        return self.risk.epistemic(aleatoric, weights), (models * aleatoric).sum(-1), weights


def standard_atoms() -> Tensor:
    """N(0, 1) as the means of 400 equally likely bins, ``[400]``: its CVaR is exact at n / 400."""
    edges = torch.arange(BINS + 1, dtype=torch.float64) / BINS
    density = torch.distributions.Normal(0.0, 1.0)
    at_edge = torch.zeros(BINS + 1, dtype=torch.float64)
    at_edge[1:-1] = density.log_prob(torch.special.ndtri(edges[1:-1])).exp()
    return (at_edge[:-1] - at_edge[1:]) * BINS
