"""Risk measures: from a return distribution to one number.

Returns, not costs: low is bad, and risk measures look at the lower tail. Read ``measure`` first,
then ``distortion`` (CVaR and others), ``composite`` and ``decision``; ``config`` has the fields of
configs.
"""

from uqbench.contract.risk.composite import CompositeRisk, additive, compose
from uqbench.contract.risk.decision import DecisionRule, MarginalRisk
from uqbench.contract.risk.deviation import MeanStd
from uqbench.contract.risk.distortion import (
    CVaR,
    Distortion,
    Expectation,
    ProportionalHazard,
    VaR,
    Wang,
)
from uqbench.contract.risk.entropic import EVaR
from uqbench.contract.risk.measure import RiskMeasure

__all__ = [
    "CVaR", "CompositeRisk", "DecisionRule", "Distortion", "EVaR", "Expectation", "MarginalRisk",
    "MeanStd", "ProportionalHazard", "RiskMeasure", "VaR", "Wang", "additive", "compose",
]  # fmt: skip
