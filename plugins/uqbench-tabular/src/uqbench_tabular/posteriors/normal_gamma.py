"""The normal-gamma model of an unknown mean and precision.

Equations of Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 3.
The mean's marginal and the predictive distribution are Student t, which :func:`student_t` draws
without rejection: two uniform numbers per draw, whatever the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class NormalGamma:
    """``τ ~ Gamma(α, rate β)``, ``μ | τ ~ N(μ₀, 1 / (λ τ))``; fields have any one shape."""

    mu0: Tensor
    lam: Tensor
    alpha: Tensor
    beta: Tensor

    @classmethod
    def filled(
        cls,
        shape: Sequence[int],
        parameters: tuple[float, float, float, float],
        device: torch.device,
    ) -> NormalGamma:
        """The same ``(μ₀, λ, α, β)`` in every entry of ``shape``, float64."""
        return cls(
            *(
                torch.full(tuple(shape), value, dtype=torch.float64, device=device)
                for value in parameters
            )
        )

    def map(self, change: Callable[[Tensor], Tensor]) -> NormalGamma:
        """Apply the same change to every field: indexing, reshaping."""
        return NormalGamma(**{name: change(table) for name, table in self.fields().items()})

    def replaced(self, at: tuple[Tensor, ...], new: NormalGamma) -> NormalGamma:
        """A copy with the entries at an index replaced; ``self`` does not change."""
        changed = new.fields()
        return NormalGamma(
            **{name: old.index_put(at, changed[name]) for name, old in self.fields().items()}
        )

    def fields(self) -> dict[str, Tensor]:
        """The parameters by name."""
        return dict(vars(self))


def normal_gamma_update(prior: NormalGamma, observed: Tensor) -> NormalGamma:
    """The model after one observation, with the old values on the right.

    ``μ₀ ← (λ μ₀ + r) / (λ + 1)``, ``λ ← λ + 1``, ``α ← α + 1/2``,
    ``β ← β + λ (r − μ₀)² / (2 (λ + 1))``.
    """
    return NormalGamma(
        mu0=(prior.lam * prior.mu0 + observed) / (prior.lam + 1),
        lam=prior.lam + 1,
        alpha=prior.alpha + 0.5,
        beta=prior.beta + prior.lam * (observed - prior.mu0) ** 2 / (2 * (prior.lam + 1)),
    )


def variance_of_mean(model: NormalGamma) -> Tensor:
    """``Var μ = β / (λ (α − 1))``, for α > 1."""
    return model.beta / (model.lam * (model.alpha - 1))


def marginal_of_mean(model: NormalGamma, t: Tensor) -> Tensor:
    """``μ = μ₀ + t √(β / (λ α))`` for ``t`` Student-t with ``2 α`` degrees of freedom."""
    return model.mu0 + t * (model.beta / (model.lam * model.alpha)).sqrt()


def predictive(model: NormalGamma, t: Tensor) -> Tensor:
    """The next observation, ``μ₀ + t √(β (λ + 1) / (λ α))``, for the same ``t``."""
    return model.mu0 + t * (model.beta * (model.lam + 1) / (model.lam * model.alpha)).sqrt()


def student_t(u: Tensor, freedom: Tensor) -> Tensor:
    """Student t variables, ``t = √(ν (v^(−2/ν) − 1)) cos 2πw`` (Bailey 1994, polar method).

    Args:
        u: ``[*, 2]`` uniform in [0, 1); ``v = 1 − u₀`` is never zero, ``w = u₁``.
        freedom: ν, ``[*]``.

    Returns:
        ``[*]`` float64.
    """
    u = u.double()
    inverse = torch.exp(-2 / freedom * torch.log1p(-u[..., 0]))
    return (freedom * (inverse - 1)).sqrt() * torch.cos(2 * math.pi * u[..., 1])


def sample_mean(
    model: NormalGamma, generators: Sequence[np.random.Generator], count: int
) -> Tensor:
    """``[L, K, *]`` samples of μ, a Student t, for fields ``[L, *]``; lane i uses generator i."""
    shape = (count, *model.mu0.shape[1:], 2)
    u = torch.stack([torch.from_numpy(draw.random(shape)) for draw in generators])
    each = model.map(lambda table: table[:, None])
    return marginal_of_mean(each, student_t(u.to(model.mu0.device), 2 * each.alpha))
