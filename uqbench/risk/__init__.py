"""Risk measures: from a distribution of returns to one number.

Returns, not costs: low is bad, and risk measures look at the lower tail.
"""

from uqbench.risk.composite import CompositeRisk, additive, compose
from uqbench.risk.deviation import MeanStd
from uqbench.risk.distortion import CVaR, Distortion, Expectation, ProportionalHazard, VaR, Wang
from uqbench.risk.entropic import EVaR
from uqbench.risk.measure import RiskMeasure
from uqbench.risk.naming import CompositeRiskName, RiskName, composite_risk, risk_measure

__all__ = [
    "CVaR",
    "CompositeRisk",
    "CompositeRiskName",
    "Distortion",
    "EVaR",
    "Expectation",
    "MeanStd",
    "ProportionalHazard",
    "RiskMeasure",
    "RiskName",
    "VaR",
    "Wang",
    "additive",
    "compose",
    "composite_risk",
    "risk_measure",
]
