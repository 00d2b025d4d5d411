"""Quantiles of the normal and the t distribution.

scipy is imported when one is asked for: suites are checked without it, and it takes a while.
"""

from sys import float_info

import numpy as np
from numpy.typing import NDArray

from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS


def normal_quantile(probability: float) -> float:
    """The standard normal quantile."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def t_quantile(probability: float, degrees: float) -> float:
    """Student's t quantile, of ``degrees`` of freedom (any positive number)."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def student(error: NDArray[np.float64], runs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Half-widths of means' 95 % Student intervals, from standard errors; NaN of few runs."""
    from scipy.special import stdtrit

    reach = stdtrit(np.maximum(runs - 1, 1), 1 - ALPHA / 2) * error
    return np.where(runs >= MINIMUM_SEEDS, reach, np.nan)


def t_tail(value: float, degrees: float) -> float:
    """The probability that Student's t, of ``degrees`` of freedom, is above ``value``."""
    from scipy.special import stdtr

    tail = float(stdtr(degrees, -value))
    return tail if tail >= float_info.min else 0.0  # denormal before SciPy 1.17, 0 since
