"""What several looks at growing numbers of runs cost: their joint distribution.

Where two methods do not differ, the errors z₁ … z_K that a comparison is off by at looks of
n₁ < … < n_K seeds are jointly normal for enough runs, with correlations √(nⱼ/nₖ): the runs of a
look contain those of all before it (Jennison & Turnbull 2000, Group Sequential Methods, chapters 2
and 19). The chance that any of them is beyond a bound follows by integration from look to look
(Armitage, McPherson & Rowe 1969). The bound is the same for all looks (Pocock 1977), which takes
the fewest runs where methods clearly differ.
"""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import normal_quantile

NODES = 96
"""Of the Gauss-Legendre rule on each look's interval; twice as many change no seventh digit."""


@lru_cache(maxsize=4096)
def repeated(p: float, schedule: tuple[int, ...]) -> float:
    """The chance of a two-sided p-value of at most ``p`` at any look, where nothing differs.

    So it is the p-value of all looks together: at most α with probability α.

    Args:
        p: at one look.
        schedule: numbers of seeds of all looks, ascending.
    """
    if p <= 0 or p >= 1 or len(schedule) == 1:
        return min(1.0, max(0.0, p))
    bound = normal_quantile(1 - p / 2)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # the density of the sum of errors, where all looks so far were inside the bound
    ends = bound * math.sqrt(schedule[0])
    at, of = ends * nodes, ends * weights
    density = np.exp(-0.5 * at**2 / schedule[0]) / math.sqrt(2 * math.pi * schedule[0])
    for before, seeds in pairwise(schedule):
        ends, new = bound * math.sqrt(seeds), seeds - before
        to = ends * nodes
        step = np.exp(-0.5 * (to[:, None] - at) ** 2 / new) / math.sqrt(2 * math.pi * new)
        at, of, density = to, ends * weights, step @ (of * density)
    beyond = 1.0 - float(of @ density)
    return min(1.0, max(p, min(beyond, p * len(schedule))))


@lru_cache(maxsize=1024)
def level(alpha: float, schedule: tuple[int, ...]) -> float:
    """The level of one look at which all looks together err with ``alpha``."""
    from scipy.optimize import brentq  # takes a while to import

    if len(schedule) == 1:
        return alpha
    ends = math.log(alpha / len(schedule) / 2), math.log(alpha)

    def excess(log_level: float) -> float:
        return math.log(repeated(math.exp(log_level), schedule) / alpha)

    return math.exp(brentq(excess, *ends, xtol=1e-10))


def level_of_claim(schedule: tuple[int, ...], comparisons: int) -> float:
    """The error that a claim may make at one look, to be divided among its comparisons.

    The looks agree less on rare errors than on common ones, so that each comparison's share of
    5 % is spent by itself; the shares of those that are left, once some are decided, are larger.
    """
    return comparisons * level(ALPHA / comparisons, schedule)
