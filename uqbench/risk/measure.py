"""What a risk measure is: from a distribution of returns to one number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor


class RiskMeasure(ABC):
    """Maps values and their probabilities along one dimension to one number.

    Returns, not costs: low is bad, larger is better, and a risk-averse measure lies below the mean.

    Attributes:
        neutral: the settings at which the measure is the mean; None where there are none.
    """

    neutral: ClassVar[Mapping[str, float] | None] = None

    @property
    def coherent(self) -> bool:
        """Whether, with these settings, the axioms of coherence hold in the sign for returns.

        Monotone, translation-equivariant, positively homogeneous and superadditive (Artzner et al.
        1999, whose axioms are for costs: −ρ(−X)). False where the measure does not say.
        """
        return False

    @abstractmethod
    def __call__(self, values: Tensor, probabilities: Tensor, dim: int = -1) -> Tensor:
        """Return the risk-adjusted value, with ``dim`` reduced; larger is better.

        Args:
            values: returns, in any order.
            probabilities: of the values, or weights in proportion to them; broadcast.
            dim: along which the law lies.
        """

    def of_sorted(self, values: Tensor, probabilities: Tensor) -> Tensor:
        """The same for values ``[..., N]`` that ascend, such as the support of a categorical law.

        Measures that look at the order need not sort then.
        """
        return self(values, probabilities)

    def of_quantiles(self, quantiles: Tensor, dim: int = -1) -> Tensor:
        """The same for equally likely values: quantiles at midpoint levels, or a sample."""
        return self(quantiles, torch.ones_like(quantiles), dim)
