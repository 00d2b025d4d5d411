"""Quantiles of the t distribution.

scipy is imported when one is asked for: suites are checked without it, and it takes a while.
"""

from sys import float_info


def t_quantile(probability: float, degrees: float) -> float:
    """Student's t quantile, of ``degrees`` of freedom (any positive number)."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def t_tail(value: float, degrees: float) -> float:
    """The probability that Student's t, of ``degrees`` of freedom, is above ``value``."""
    from scipy.special import stdtr

    tail = float(stdtr(degrees, -value))
    return tail if tail >= float_info.min else 0.0  # denormal before SciPy 1.17, 0 since
