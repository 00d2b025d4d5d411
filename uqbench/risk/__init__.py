"""Risk measures: from a distribution of returns to one number.

Returns, not costs: low is bad, and risk measures look at the lower tail.
"""

from uqbench.risk.distortion import CVaR, Expectation, RiskMeasure, Wang

__all__ = ["CVaR", "Expectation", "RiskMeasure", "Wang"]
