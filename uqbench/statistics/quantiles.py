"""Quantiles of the normal, t and beta distributions.

scipy is imported when one is asked for: suites are checked without it, and it takes a while.
"""

from __future__ import annotations


def normal_quantile(probability: float) -> float:
    """The standard normal quantile."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def t_quantile(probability: float, degrees: float) -> float:
    """Student's t quantile, of ``degrees`` of freedom (any positive number)."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def t_tail(value: float, degrees: float) -> float:
    """The probability that Student's t, of ``degrees`` of freedom, is above ``value``."""
    from scipy.special import stdtr

    return float(stdtr(degrees, -value))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The quantile of the beta distribution."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))
