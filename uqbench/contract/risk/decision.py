"""Decision rules: what risk makes of an agent's predictions, one number per action.

An agent predicts with K models, each a return distribution, and a belief over the models. A rule is
a measure of their mixture (:class:`MarginalRisk`), or ``Risk_E of Risk_A``
(:class:`uqbench.contract.risk.CompositeRisk`).

An agent with one return distribution has one model. Posterior samples of Q are models whose return
is certain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uqbench.contract.risk.measure import RiskMeasure

if TYPE_CHECKING:  # imported where it computes: every command reads the names of measures
    from torch import Tensor


class DecisionRule(ABC):
    """Risk-adjusted values of actions; an agent takes the action with the highest."""

    @property
    @abstractmethod
    def marginal(self) -> bool:
        """Whether it depends on the mixture of the models alone."""

    @abstractmethod
    def __call__(self, values: Tensor, probabilities: Tensor, belief: Tensor) -> Tensor:
        """The risk-adjusted values ``[...]``; larger is better.

        Args:
            values: returns of each of K models, ``[..., K, N]``, in any order.
            probabilities: of the values, or weights proportional to them, ``[..., K, N]``; the sum
                is the same for every model.
            belief: probabilities of the models, or weights proportional to them, ``[..., K]``.
        """

    def of_distribution(self, values: Tensor, probabilities: Tensor) -> Tensor:
        """The value of one model: values and probabilities ``[..., N] -> [...]``."""
        import torch

        belief = torch.ones_like(values[..., :1])
        return self(values[..., None, :], probabilities[..., None, :], belief)

    def of_samples(self, values: Tensor) -> Tensor:
        """The value of equally likely samples of Q, ``[..., K] -> [...]``."""
        import torch

        certain = torch.ones_like(values)
        return self(values[..., None], certain[..., None], certain)


@dataclass(frozen=True)
class MarginalRisk(DecisionRule):
    """A measure of the mixture of the models' return distributions.

    It does not tell epistemic from aleatoric uncertainty.
    """

    measure: RiskMeasure
    marginal = True

    def __call__(self, values: Tensor, probabilities: Tensor, belief: Tensor) -> Tensor:
        """``Risk(Σ_k β_k P_k)``."""
        return self.measure(values.flatten(-2), (probabilities * belief[..., None]).flatten(-2))
