"""Methods that may be first: comparisons with the best alone.

A method may be first unless another is better by more than the greatest of its own differences
comes to by chance, one-sided at 5 %. So the truly best method is among those that may be first with
probability 95 % (Hsu 1981, Simultaneous confidence intervals for all distances from the "best").
There are as many comparisons as other methods, where ranks compare all pairs. Chance is drawn as
for ranks (:mod:`uqbench.statistics.ranks`).
"""

from collections.abc import Container, Mapping

import numpy as np

from uqbench.statistics.bounded import Ranges
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.location import Value
from uqbench.statistics.ranks import Matrix, Measured, by_chance, measure


def may_be_first(
    scores: Mapping[str, Matrix],
    statistic: str,
    *,
    paired: bool,
    foreign: Container[str] = (),
    ranges: Ranges | None = None,
) -> tuple[str, ...]:
    """The methods that may be first; all of them with fewer than three seeds.

    Args:
        scores: of the ranked methods, ``[runs, tasks]`` each; more is better.
        statistic: that ranks.
        paired: whether seeds with all their tasks are the unit, and are compared one by one.
        foreign: rows that are not the suite's own; see :func:`uqbench.statistics.ranks.compare`.
        ranges: of the metric on each task, where its runs may fail.
    """
    if len(scores) < 2 or min(map(len, scores.values())) < MINIMUM_SEEDS:
        return tuple(scores)
    seedwise = paired and len(set(map(len, scores.values()))) == 1
    measured = measure(scores, statistic, ranges, seedwise=seedwise)
    pairs, ahead, chance = by_chance(measured, scores, statistic, foreign)
    drawn = dict(zip(pairs, zip(ahead.tolist(), chance.T, strict=True), strict=True))
    return tuple(name for name in scores if _chance_to_lead(name, measured, drawn) > ALPHA)


Drawn = Mapping[tuple[str, str], tuple[float, Matrix]]
"""By pair: how far the first is ahead, and that by chance, ``[draws]``, as normal deviates."""


def _chance_to_lead(name: str, measured: Mapping[tuple[str, str], Measured], drawn: Drawn) -> float:
    """The least p-value, over the others and adjusted for their number, that one is no better."""
    others = {pair: -1.0 if pair[0] == name else 1.0 for pair in measured if name in pair}
    greatest = [sign * drawn[pair][1] for pair, sign in others.items() if pair in drawn]
    most = np.max(greatest, axis=0) if greatest else None
    least = 1.0
    for pair, sign in others.items():
        of = measured[pair]
        if sign * of.estimate <= 0:
            continue
        if pair in drawn and most is not None:
            ahead = sign * drawn[pair][0] * (1 - 1e-9)
            p = ((most >= ahead).sum() + 1) / (len(most) + 1)
            p = p if isinstance(of, Value) else max(p, of.p_value() / 2)
        else:
            p = min(1.0, of.p_value() / 2 * len(others))
        least = min(least, float(p))
    return least
