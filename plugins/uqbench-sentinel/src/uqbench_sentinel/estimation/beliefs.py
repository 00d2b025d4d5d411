"""Beliefs over return distributions, whose total risk is known exactly.

A belief is ``[..., K, C, 3]``: of K models, each a mixture of C Gaussians, the joint probability of
the model and its component, the component's mean and its standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predictions

GAUSSIANS = 100
GRID = 100
HALVINGS = 80


@dataclass(frozen=True)
class BeliefConfig:
    """Which belief, and the level of the risk.

    Attributes:
        example: ``mixture`` (examples 1 and 2, which are the same), a hundred Gaussians drawn for
            each run; ``beta`` (example 3), of the weight of two Gaussians; ``three`` (example 4).
        alpha: α of CVaR.
        concentration: both parameters of the Beta belief of example 3.
    """

    example: Literal["mixture", "beta", "three"]
    alpha: float = 0.25
    concentration: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1 or not self.concentration > 0:
            raise ValueError(
                f"expected alpha in (0, 1) and concentration > 0, got {self.alpha} and "
                f"{self.concentration}"
            )


class Beliefs(Dataset):
    """Beliefs over Gaussian return distributions, with their exact CVaR.

    One belief per lane; an estimator predicts the risk of the return as ``total``, in units of
    return, with the ``weights`` of the belief's models.

    Source: Eriksson et al. 2022, Examples 1 to 4
    """

    n_classes = 0

    def __init__(self, config: BeliefConfig) -> None:
        self.config = config
        self.inputs = tuple(self._belief(0).shape)

    def data(self, seeds: Sequence[int]) -> Data:
        """The belief itself: there is nothing else to learn from."""
        return Data(self._beliefs(seeds), torch.zeros(len(seeds), 1))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: the model is not given."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The belief."""
        return {"belief": EvaluationSet(self._beliefs(seeds))}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """The prediction against the truth, ``[L]`` each.

        ``stated``, the predicted risk; ``total``, the exact CVaR_α of the marginal distribution;
        ``error``, the first minus the second, and ``abs_error``; ``margin``, by how much N(0, 1),
        which is certain, is preferred (example 3: a₁ to a₂); ``nearest_weight``, the weight of the
        model with the least divergence from the marginal distribution (example 4).
        """
        beliefs = self._beliefs(seeds)
        given = predictions["belief"].predicted
        if given.weights is None or given.unit != "return":
            raise ValueError(
                f"expected a risk in units of return and the weights of models, got {given.unit} "
                f"with{'out' * (given.weights is None)} weights"
            )
        weights, means, stds = beliefs[:, 0].flatten(1, 2).unbind(-1)
        total = gaussian_mixture_cvar(weights, means, stds, self.config.alpha)
        one, zero = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
        nearest = divergences(beliefs[:, 0]).argmin(-1, keepdim=True)
        stated = given.total[:, 0]
        return {
            "stated": stated,
            "total": total,
            "error": stated - total,
            "abs_error": (stated - total).abs(),
            "margin": gaussian_mixture_cvar(one, zero, one, self.config.alpha) - stated,
            "nearest_weight": given.weights[:, 0].gather(-1, nearest).squeeze(-1),
        }

    def _beliefs(self, seeds: Sequence[int]) -> Tensor:
        """``[L, 1, K, C, 3]``."""
        return torch.stack([self._belief(seed) for seed in seeds])[:, None]

    def _belief(self, seed: int) -> Tensor:
        if self.config.example == "mixture":
            return hundred_gaussians(seed)
        if self.config.example == "beta":
            return weight_of_two(self.config.concentration)
        return three_gaussians()


def hundred_gaussians(seed: int) -> Tensor:
    """``Φ ~ Dir([½]¹⁰⁰)``, ``μ ~ N(0, 1)``, ``σ² ~ Γ⁻¹(2, 0, 1)`` (example 1), ``[100, 1, 3]``."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(GAUSSIANS, 0.5))
    means = rng.standard_normal(GAUSSIANS)
    stds = rng.gamma(2.0, 1.0, GAUSSIANS) ** -0.5
    return torch.from_numpy(np.stack([weights, means, stds], -1))[:, None]


def weight_of_two(concentration: float) -> Tensor:
    """``ω N(1, 1) + (1 − ω) N(−1, 1)``, ``ω ~ Beta(c, c)`` (example 3), ``[100, 2, 3]``."""
    omega = (torch.arange(GRID, dtype=torch.float64) + 0.5) / GRID
    belief = ((concentration - 1) * (omega.log() + (1 - omega).log())).softmax(-1)
    belief = belief.clamp(min=1e-200)  # a model of probability zero would have no distribution
    weights = belief[:, None] * torch.stack([omega, 1 - omega], -1)
    means = torch.tensor([1.0, -1.0], dtype=torch.float64).expand_as(weights)
    return torch.stack([weights, means, torch.ones_like(weights)], -1)


def three_gaussians() -> Tensor:
    """``μ = [0, −2, 2]``, ``σ = [1, ½, 1]``, equally likely (example 4), ``[3, 1, 3]``."""
    numbers = [[1 / 3, 0.0, 1.0], [1 / 3, -2.0, 0.5], [1 / 3, 2.0, 1.0]]
    return torch.tensor(numbers, dtype=torch.float64)[:, None]


def gaussian_mixture_cvar(weights: Tensor, means: Tensor, stds: Tensor, alpha: float) -> Tensor:
    """``(1/α) Σ_i φ_i [μ_i Φ(u_i) − σ_i φ(u_i)]``, ``u_i = (q − μ_i) / σ_i``, q the α-quantile.

    Args:
        weights: ``[..., N]``, summing to one.
        means: ``[..., N]``.
        stds: ``[..., N]``.
        alpha: α; the quantile is found by bisection.
    """
    reach = 40 * stds.amax(-1, keepdim=True)
    low, high = means.amin(-1, keepdim=True) - reach, means.amax(-1, keepdim=True) + reach
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        mass = (weights * torch.special.ndtr((middle - means) / stds)).sum(-1, keepdim=True)
        low = torch.where(mass < alpha, middle, low)
        high = torch.where(mass < alpha, high, middle)
    u = (high - means) / stds
    density = (-(u.square()) / 2).exp() / math.sqrt(2 * math.pi)
    below: Tensor = torch.special.ndtr(u)
    return (weights * (means * below - stds * density)).sum(-1) / alpha


NODES = 32


def divergences(
    belief: Tensor, kl: Literal["member-to-mix", "mix-to-member"] = "member-to-mix"
) -> Tensor:
    """``KL(P_k ‖ P̂)`` or ``KL(P̂ ‖ P_k)`` of each model, in nats: ``[..., K, C, 3] -> [..., K]``.

    Expectations over a Gaussian are means over 32 Gauss–Hermite nodes.
    """
    joint, means, stds = belief.double().unbind(-1)
    nodes, masses = (torch.from_numpy(a) for a in np.polynomial.hermite_e.hermegauss(NODES))
    masses = masses / masses.sum()
    models = joint.sum(-1)
    share = joint / models[..., None]
    points = means[..., None] + stds[..., None] * nodes  # [..., K, C, nodes]
    u = (points[..., None, None] - means[..., None, None, None, :, :]) / stds[
        ..., None, None, None, :, :
    ]
    log_density = -u.square() / 2 - stds.log()[..., None, None, None, :, :]
    log_models = (log_density + share.log()[..., None, None, None, :, :]).logsumexp(-1)
    log_mix = (log_models + models.log()[..., None, None, None, :]).logsumexp(-1)
    if kl == "member-to-mix":
        own = log_models.diagonal(dim1=-4, dim2=-1).movedim(-1, -3)  # of the model drawn from
        return (share[..., None] * masses * (own - log_mix)).sum((-1, -2))
    difference = log_mix[..., None] - log_models
    return (joint[..., None, None] * masses[:, None] * difference).sum((-2, -3, -4))
