"""Composite risk of epistemic and aleatoric uncertainty (Eriksson et al., section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uqbench.contract.risk.decision import DecisionRule
from uqbench.contract.risk.distortion import Expectation
from uqbench.contract.risk.measure import RiskMeasure

if TYPE_CHECKING:  # imported where it computes: every command reads the names of measures
    from torch import Tensor


@dataclass(frozen=True)
class CompositeRisk(DecisionRule):
    """``F^C = Risk_E(Risk_A(Z | θ) | β)`` (definition 1, equation 3).

    A composition of coherent measures is coherent (theorem 2).

    Attributes:
        epistemic: over the models θ, whose weights are the belief β.
        aleatoric: over the returns Z of one model.
    """

    epistemic: RiskMeasure
    aleatoric: RiskMeasure

    @property
    def marginal(self) -> bool:
        """True only where both are the mean."""
        return isinstance(self.epistemic, Expectation) and isinstance(self.aleatoric, Expectation)

    def __call__(self, values: Tensor, probabilities: Tensor, belief: Tensor) -> Tensor:
        """The composite risk ``[...]``; larger is better.

        Args:
            values: returns of each of K models, ``[..., K, N]``.
            probabilities: of the values, ``[..., K, N]``.
            belief: probabilities of the models, ``[..., K]``.
        """
        return self.epistemic(self.aleatoric(values, probabilities), belief)

    def __str__(self) -> str:
        return f"{self.epistemic} of {self.aleatoric}"


def compose(epistemic: RiskMeasure, aleatoric: RiskMeasure) -> CompositeRisk:
    """``Risk_E ∘ Risk_A``."""
    return CompositeRisk(epistemic, aleatoric)


def additive(aleatoric: RiskMeasure) -> CompositeRisk:
    """``F^A = E_θ[Risk_A(Z | θ)]``, the composite risk that is neutral toward θ (theorem 3 i)."""
    return CompositeRisk(Expectation(), aleatoric)
