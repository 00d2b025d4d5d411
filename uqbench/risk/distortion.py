"""Distortion risk measures of a return distribution.

``ρ_g(Z) = Σ_i z_(i) [g(F_i) − g(F_{i−1})]`` with the values sorted upwards, ``F`` the CDF and ``g``
a distortion of [0, 1]. For returns, a concave ``g`` puts more weight on the lower tail: risk-averse
and coherent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


class RiskMeasure(ABC):
    """Maps values and their probabilities along one dimension to one number."""

    @abstractmethod
    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """Return the risk-adjusted value, with ``dim`` reduced; larger is better."""


class Distortion(RiskMeasure):
    """A risk measure that is given by a distortion ``g`` of the CDF."""

    @abstractmethod
    def distort(self, cdf: Tensor) -> Tensor:
        """``g``: [0, 1] → [0, 1], increasing, ``g(0) = 0`` and ``g(1) = 1``."""

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """``Σ_i z_(i) [g(F_i) − g(F_{i−1})]`` along ``dim``."""
        values, probabilities = torch.broadcast_tensors(values, probabilities)
        ordered, order = values.movedim(dim, -1).sort(dim=-1)
        mass = probabilities.movedim(dim, -1).gather(-1, order)
        upper = mass.cumsum(-1)
        upper = (upper / upper[..., -1:]).clamp(max=1.0)
        lower = torch.cat([torch.zeros_like(upper[..., :1]), upper[..., :-1]], dim=-1)
        return (ordered * (self.distort(upper) - self.distort(lower))).sum(-1)


@dataclass(frozen=True)
class Expectation(Distortion):
    """The mean: ``g(p) = p``."""

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = p``."""
        return cdf


@dataclass(frozen=True)
class CVaR(Distortion):
    """Mean of the worst ``alpha`` mass: ``g(p) = min(p / α, 1)``; ``alpha = 1`` is the mean."""

    alpha: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise ValueError(f"CVaR's alpha must be in (0, 1], got {self.alpha}")

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = min(p / α, 1)``."""
        return (cdf / self.alpha).clamp(max=1.0)


@dataclass(frozen=True)
class Wang(Distortion):
    """Wang's transform ``g(p) = Φ(Φ⁻¹(p) − Φ⁻¹(α))``: averse below α = 1/2."""

    alpha: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"Wang's alpha must be in (0, 1), got {self.alpha}")

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = Φ(Φ⁻¹(p) − Φ⁻¹(α))``."""
        shift = torch.special.ndtri(torch.as_tensor(self.alpha, dtype=cdf.dtype))
        distorted: Tensor = torch.special.ndtr(torch.special.ndtri(cdf) - shift)
        return distorted
