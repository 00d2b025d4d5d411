"""Two stored boards of one suite, of two machines say: the same, or where they differ."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from uqbench.boards.stored import StoredBoard
from uqbench.contract.wording import count

MOST = 5
"""Differences of a kind that are named; of the others it says how many."""
SETTINGS = {
    "suite", "budget", "primary_metric", "ranks_by", "normalization", "score_versions", "methods",
    "content",
}  # fmt: skip
RUN, MEASURED = ["task", "method", "seed"], ["steps_per_s", "run", "content"]
"""Columns that name a run, and those that say nothing of its outcome."""


def differences(first: StoredBoard, second: StoredBoard) -> list[str]:
    """Differences of two boards, the causes first; empty where every run came to the same.

    Raises:
        UqbenchError: a file is damaged.
    """
    settings = [
        pd.json_normalize(board.manifest.model_dump(include=SETTINGS)).iloc[0].map(str)
        for board in (first, second)
    ]
    told = _named("{0}: A {1}, B {2}", _differing(*settings))
    ours, theirs = (b.scores.set_index(RUN).drop(columns=MEASURED, errors="ignore")
                    for b in (first, second))  # fmt: skip
    for only, others, board in ((ours, theirs, first), (theirs, ours, second)):
        alone = ["/".join(map(str, run)) for run in only.index.difference(others.index)]
        shown = f"{', '.join(alone[:MOST])}{', …' * (len(alone) > MOST)}"
        told += [f"only in {board.folder}: {count(len(alone), 'run')}: {shown}"] * bool(alone)
    both = ours.index.intersection(theirs.index)
    cells = [frame.loc[both].map(repr).stack() for frame in (ours, theirs)]
    values = _differing(*cells)
    runs = dict.fromkeys(name[:3] for name, *_ in values)
    told += [f"{len(runs)} of {count(len(both), 'shared run')} differ"] * bool(runs)
    told += _named("{0}: A {1}, B {2}", [("/".join(map(str, n)), *of) for n, *of in values])
    ranks = [
        board.leaderboard.set_index("method")[["rank_low", "rank_high"]].agg(tuple, axis=1).map(str)
        for board in (first, second)
    ]
    return told + _named("ranks of {0}: A {1}, B {2}", _differing(*ranks))


def _differing(ours: pd.Series, theirs: pd.Series) -> list[tuple[Any, ...]]:
    """Name and both values of what both have and differs."""
    names = [name for name in ours.index.intersection(theirs.index) if ours[name] != theirs[name]]
    return [(name, ours[name], theirs[name]) for name in names]


def _named(words: str, found: Sequence[tuple[Any, ...]]) -> list[str]:
    more = [f"… and {len(found) - MOST} more"] * (len(found) > MOST)
    return [words.format(*one) for one in found[:MOST]] + more
