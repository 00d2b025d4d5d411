"""Mean minus standard deviation: the "sd" of Eriksson et al., with the sign for returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from uqbench.contract.risk.measure import RiskMeasure

if TYPE_CHECKING:  # imported where it computes: every command reads the names of measures
    from torch import Tensor


@dataclass(frozen=True)
class MeanStd(RiskMeasure):
    """Mean minus weight times standard deviation.

    ``E[Z] − c √Var[Z]``, where ``weight`` is c ≥ 0. The paper calls it coherent. It is not: it is
    not monotone, since a rare high return lowers it.

    Source: Eriksson et al., section 6
    """

    weight: float = 1.0
    neutral: ClassVar[Mapping[str, float]] = {"weight": 0.0}

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise ValueError(f"the weight of a standard deviation must be >= 0, got {self.weight}")

    @property
    def coherent(self) -> bool:
        """True only where it is the mean."""
        return self.weight == 0

    @property
    def monotone(self) -> bool:
        """True only where it is the mean."""
        return self.weight == 0

    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """``E[Z] − c √Var[Z]`` along ``dim``."""
        import torch

        mass = probabilities / probabilities.sum(dim, keepdim=True)
        mean = (mass * values).sum(dim, keepdim=True)
        variance = (mass * (values - mean).square()).sum(dim)
        # √ has no gradient at zero: none flows where the variance is zero
        sd = torch.where(variance > 0, torch.where(variance > 0, variance, 1.0).sqrt(), 0.0)
        return mean.squeeze(dim) - self.weight * sd
