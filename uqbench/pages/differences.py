"""Which methods differ significantly, and performance profiles, as text for a board's page.

The first is a critical difference diagram (Demšar 2006, Statistical comparisons of classifiers over
multiple data sets) set upright: methods that a bar joins do not differ significantly. The second is
the share of runs above some scores (Agarwal et al. 2021).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from uqbench.boards.against import against
from uqbench.boards.leaderboard import Board
from uqbench.statistics.levels import ALPHA

MOST_NAMED = 5
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of all ranked runs' scores: where profiles are evaluated."""


def differences(board: Board) -> str:
    """Both as a block of text; empty where fewer than two methods have a place."""
    methods = sorted(board.places, key=lambda name: board.places[name].rank)
    if len(methods) < 2:
        return ""
    apart = [
        {pair.first, pair.second}
        for pair in board.pairs
        if pair.adjusted is not None and pair.adjusted <= ALPHA
    ]
    bars = joined(methods, apart)
    scores = {name: board.methods[name].normalized_primary for name in methods}
    runs = {name: np.ravel(values) for name, values in scores.items() if values is not None}
    at = np.unique(np.quantile(np.concatenate(list(runs.values())), QUANTILES).round(2))
    width = max(map(len, methods))
    above = "  ".join(f">{score:6.2f}" for score in at)
    lines = [f"{'':{width}}  {'joined':{max(len(bars), 6)}}  runs {above}"]
    for name in methods:
        marks = "".join("│" if name in bar else " " for bar in bars)
        shares = "  ".join(f"{100 * (runs[name] > score).mean():5.0f} %" for score in at)
        lines.append(f"{name:{width}}  {marks:{max(len(bars), 6)}}       {shares}")
    block = "\n".join(line.rstrip() for line in lines)
    return (
        "## Significant differences\n\nMethods that a bar joins do not differ significantly; then "
        f"the share of runs above a score.\n\n```\n{block}\n```\n\n"
        f"{against(board, *methods[:2])}{_opposite(board)}"
    )


def _opposite(board: Board) -> str:
    """The pairs of which the better one by P(better) is the worse one by the ranking statistic."""
    told = []
    for pair in board.pairs:
        low, high = pair.improvement.low, pair.improvement.high
        if pair.adjusted is None or low is None or high is None or low <= 0.5 <= high:
            continue
        sign = 1 if low > 0.5 else -1
        if sign * pair.difference.value < 0:
            better, worse = (pair.first, pair.second)[::sign]
            told.append(f"`{better}` over `{worse}`")
    if not told:
        return ""
    more = f" and {len(told) - MOST_NAMED} more" * (len(told) > MOST_NAMED)
    named = ", ".join(told[:MOST_NAMED]) + more
    return f"\n\nBy P(better), unadjusted, these pairs are in the other order: {named}."


def joined(methods: Sequence[str], apart: Iterable[set[str]]) -> list[tuple[str, ...]]:
    """The largest sets of methods of which no two differ significantly, the best method's first.

    By splitting (Piepho 2004, An algorithm for a letter-based representation of all-pairwise
    comparisons). A set of one is left out.
    """
    sets = [frozenset(methods)]
    for pair in apart:
        parts = {
            part for old in sets for part in ([old - {x} for x in pair] if pair <= old else [old])
        }
        sets = [part for part in parts if not any(part < other for other in parts)]
    ordered = sorted(sorted(methods.index(name) for name in part) for part in sets if len(part) > 1)
    return [tuple(methods[i] for i in part) for part in ordered]
