"""The trivial baseline: what costs no learning, and a method has to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uqbench.specs import Role
from uqbench.statistics.estimate import Estimate
from uqbench.statistics.ranks import Pair


@dataclass(frozen=True)
class TrivialBaseline:
    """The best trivial row of a board, and which methods beat it.

    Attributes:
        best: the trivial row with the best ranking statistic.
        beaten: by method: whether the 95 % interval of its difference to ``best`` lies above zero;
            None where there is no interval. Each has 95 % by itself.
    """

    best: str
    beaten: Mapping[str, bool | None]


def trivial_baseline(
    values: Mapping[str, float], roles: Mapping[str, Role], pairs: Sequence[Pair]
) -> TrivialBaseline | None:
    """The trivial baseline of a board; None where it has no trivial row, or one that lacks runs.

    Args:
        values: the ranking statistic of each fully scored row; more is better.
        roles: of all rows.
        pairs: the comparisons of all fully scored rows.
    """
    trivial = [name for name, role in roles.items() if role == "trivial"]
    if not trivial or not values.keys() >= set(trivial):
        return None
    best = max(sorted(trivial), key=values.__getitem__)
    beaten = {}
    for pair in pairs:
        if best in (pair.first, pair.second):
            other = pair.second if pair.first == best else pair.first
            if roles[other] == "method":
                beaten[other] = _above(pair.difference, reverse=pair.first == best)
    return TrivialBaseline(best, beaten)


def _above(difference: Estimate, *, reverse: bool) -> bool | None:
    """Whether the interval lies above zero; in reverse, below."""
    if difference.low is None or difference.high is None:
        return None
    return difference.high < 0 if reverse else difference.low > 0
