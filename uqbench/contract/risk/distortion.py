"""Distortion risk measures of a return distribution.

``ρ_g(Z) = Σ_i z_(i) [g(F_i) − g(F_{i−1})]`` with the values sorted upwards, ``F`` the CDF and ``g``
a distortion of [0, 1]. For returns, a concave ``g`` puts more weight on the lower tail: risk-averse
and coherent. (Literature on costs applies ``g`` to the survival function ``1 − F``.) Where ``g``
bends within an atom, the atom is split exactly, since ``g`` is evaluated at both of its ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

from uqbench.contract.risk.measure import OfLevel, RiskMeasure

if TYPE_CHECKING:  # imported where it computes: every command reads the names of measures
    from torch import Tensor


class Distortion(RiskMeasure):
    """A risk measure defined by a distortion ``g`` of the CDF."""

    @abstractmethod
    def distort(self, cdf: Tensor) -> Tensor:
        """``g``: [0, 1] → [0, 1], increasing, ``g(0) = 0`` and ``g(1) = 1``."""

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """``Σ_i z_(i) [g(F_i) − g(F_{i−1})]`` along ``dim``."""
        import torch

        values, probabilities = torch.broadcast_tensors(values, probabilities)
        ordered, order = values.movedim(dim, -1).sort(dim=-1)
        return self.of_sorted(ordered, probabilities.movedim(dim, -1).gather(-1, order))

    def of_sorted(self, values: Tensor, probabilities: Tensor) -> Tensor:
        """The measure of values ``[..., N]`` that ascend."""
        import torch

        upper = probabilities.cumsum(-1)
        upper = (upper / upper[..., -1:]).clamp(max=1.0)
        distorted = self.distort(upper)
        below = torch.cat([torch.zeros_like(upper[..., :1]), distorted[..., :-1]], dim=-1)
        return (values * (distorted - below)).sum(-1)


@dataclass(frozen=True)
class Expectation(Distortion):
    """The mean return.

    ``g(p) = p``.
    """

    neutral: ClassVar[Mapping[str, float]] = {}
    coherent = True

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = p``."""
        return cdf

    def of_sorted(self, values: Tensor, probabilities: Tensor) -> Tensor:
        """``Σ_i p_i z_i``, whatever the order."""
        return (values * probabilities).sum(-1) / probabilities.sum(-1)


@dataclass(frozen=True)
class CVaR(OfLevel, Distortion):
    """Mean of the worst alpha mass of returns.

    ``g(p) = min(p / α, 1)``.

    Source: Rockafellar & Uryasev 2000
    """

    neutral: ClassVar[Mapping[str, float]] = {"alpha": 1.0}
    coherent = True

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = min(p / α, 1)``."""
        return (cdf / self.alpha).clamp(max=1.0)


@dataclass(frozen=True)
class VaR(OfLevel, Distortion):
    """The lower alpha quantile of returns.

    ``inf {z : F(z) ≥ α}``: ``g`` jumps from 0 to 1 at α. It is not coherent: a quantile is not
    superadditive. Sums of probabilities are compared with α up to rounding, so that ten tenths of a
    tenth reach it.

    Source: Artzner et al. 1999
    """

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = 1[p ≥ α]``."""
        import torch

        rounding = 16 * torch.finfo(cdf.dtype).eps
        return (cdf >= self.alpha * (1 - rounding)).to(cdf.dtype)


@dataclass(frozen=True)
class Wang(Distortion):
    """Wang's transform of the CDF; 0.5 is neutral.

    ``g(p) = Φ(Φ⁻¹(p) − Φ⁻¹(α))``: averse below α = 1/2. With the level α: "A risk measure that goes
    beyond coherence", which Eriksson et al. cite; the shift of a normal score is that of Wang 2000.

    Source: Wang 2002
    """

    alpha: float = 0.25
    neutral: ClassVar[Mapping[str, float]] = {"alpha": 0.5}

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError(f"Wang's alpha must be in (0, 1), got {self.alpha}")

    @property
    def coherent(self) -> bool:
        """True where ``g`` is concave, up to α = 1/2; beyond, it is convex and risk-seeking."""
        return self.alpha <= 0.5

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = Φ(Φ⁻¹(p) − Φ⁻¹(α))``."""
        import torch

        # Φ⁻¹ has no slope at 0 and 1, which map to themselves: keep gradients away from it there
        inside = (cdf > 0) & (cdf < 1)
        shift = NormalDist().inv_cdf(self.alpha)
        z = torch.special.ndtri(torch.where(inside, cdf, 0.5))
        return torch.where(inside, torch.special.ndtr(z - shift), cdf)


@dataclass(frozen=True)
class ProportionalHazard(Distortion):
    """The CDF to the power alpha; 1 is neutral.

    ``g(p) = p^α``: averse below α = 1. On returns the power is of the CDF, so that it is the
    proportional hazard transform of the loss.

    Source: Wang 1995
    """

    alpha: float = 0.5
    neutral: ClassVar[Mapping[str, float]] = {"alpha": 1.0}

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise ValueError(f"the power of a proportional hazard must be > 0, got {self.alpha}")

    @property
    def coherent(self) -> bool:
        """True where ``g`` is concave, up to α = 1; beyond, it is convex and risk-seeking."""
        return self.alpha <= 1

    def distort(self, cdf: Tensor) -> Tensor:
        """``g(p) = p^α``."""
        import torch

        inside = cdf > 0  # where α < 1 the power has no slope at 0
        return torch.where(inside, torch.where(inside, cdf, 1.0).pow(self.alpha), cdf)
