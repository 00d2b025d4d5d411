"""What the intervals of a board cover, from simulations: ``coverage.csv``, see docs/coverage.md."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board

TARGET = 0.93
"""A 95 % interval that covers less says so."""


def coverage_note(board: Board) -> str:
    """What intervals of so many seeds and tasks cover; empty where they cover what they say.

    Of the simulated numbers of seeds and tasks the nearest below the board's counts.
    """
    statistic = "mean" if board.ranking == "mean" else "iqm"
    if statistic == "mean" and board.primary.fails_beyond is not None:
        statistic = "bounded"
    seeds = len({score.seed for score in board.scores})
    tasks = len({score.task for score in board.scores})
    low = {name: share for name, share in covered(statistic, seeds, tasks) if share < TARGET}
    if not low:
        return ""
    parts = ", ".join(f"{100 * share:.0f} % where runs are {name}" for name, share in low.items())
    return f"With so few runs the intervals cover {parts} (docs/coverage.md).".replace(
        "runs are one in five fails", "one run in five fails"
    )


def covered(statistic: str, seeds: int, tasks: int) -> Sequence[tuple[str, float]]:
    """By distribution of the runs, the share of simulated boards whose interval covers."""
    known = _table()
    sizes = sorted({int(row["seeds"]) for row in known if int(row["seeds"]) <= seeds})
    counts = sorted({int(row["tasks"]) for row in known if int(row["tasks"]) <= tasks})
    if not sizes or not counts:
        return []
    key = (str(counts[-1]), str(sizes[-1]))
    return [
        (row["distribution"], float(row[statistic]))
        for row in known
        if (row["tasks"], row["seeds"]) == key and row[statistic]
    ]


@cache
def _table() -> tuple[dict[str, str], ...]:
    with files("uqbench.boards").joinpath("coverage.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
