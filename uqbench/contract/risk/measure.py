"""The RiskMeasure contract: from a return distribution to one number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # imported where it computes: every command reads the names of measures
    from torch import Tensor


class RiskMeasure(ABC):
    """Maps values and their probabilities along one dimension to one number.

    Returns, not costs: low is bad, larger is better, and a risk-averse measure lies below the mean.

    Attributes:
        neutral: the parameters for which the measure is the mean; None where there are none.
    """

    neutral: ClassVar[Mapping[str, float] | None] = None

    @property
    def coherent(self) -> bool:
        """Whether, with these parameters, the measure is coherent, with the signs for returns.

        Monotone, translation-equivariant, positively homogeneous and superadditive (Artzner et al.
        1999, whose axioms are for costs: −ρ(−X)). False unless the measure overrides it.
        """
        return False

    @property
    def monotone(self) -> bool:
        """Whether no return that rises lowers the measure; mean minus variance must say False."""
        return True

    @abstractmethod
    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """Return the risk-adjusted value, with ``dim`` reduced; larger is better.

        Args:
            values: returns, in any order.
            probabilities: of the values, or weights proportional to them; broadcast.
            dim: the dimension of the distribution.
        """

    def of_sorted(self, values: Tensor, probabilities: Tensor) -> Tensor:
        """The measure of ascending values ``[..., N]``, such as a categorical's support.

        Measures that depend on the order then need not sort.
        """
        return self(values, probabilities)

    def of_quantiles(self, quantiles: Tensor, dim: int = -1) -> Tensor:
        """The measure of equally likely values: quantiles at midpoint levels, or a sample."""
        import torch

        return self(quantiles, torch.ones_like(quantiles), dim)


@dataclass(frozen=True)
class OfLevel:
    """The level of a measure of the worst returns: what share of them, in (0, 1]."""

    alpha: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            name = type(self).__name__
            raise ValueError(f"{name}'s alpha must be in (0, 1], got {self.alpha}")
