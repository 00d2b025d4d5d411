"""Risk measures: from a return distribution to one number.

Returns, not costs: low is bad, and risk measures look at the lower tail. Read ``measure`` first,
then ``distortion`` (CVaR and others), ``composite`` and ``decision``; ``config`` has the fields of
configs.
"""

from uqbench.risk.composite import CompositeRisk, additive, compose
from uqbench.risk.decision import DecisionRule, MarginalRisk, WeightedRisk
from uqbench.risk.deviation import MeanStd
from uqbench.risk.distortion import CVaR, Distortion, Expectation, ProportionalHazard, VaR, Wang
from uqbench.risk.entropic import EVaR
from uqbench.risk.measure import RiskMeasure

__all__ = [
    "CVaR", "CompositeRisk", "DecisionRule", "Distortion", "EVaR", "Expectation", "MarginalRisk",
    "MeanStd", "ProportionalHazard", "RiskMeasure", "VaR", "Wang", "WeightedRisk", "additive",
    "compose",
]  # fmt: skip
