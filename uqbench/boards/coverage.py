"""How often what a board prints is wrong, from simulations: ``coverage.csv``, docs/coverage.md."""

from __future__ import annotations

import csv
import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board

LIMIT = 0.06
"""What is wrong more often, of nominal 5 %, says so beside it."""
INTERVALS = {"mean": "mean", "iqm": "IQM", "median": "median over tasks"}


def coverage_note(board: Board) -> str:
    """How often brackets and ranks of so many seeds and tasks are wrong; empty where rarely.

    Of the simulated numbers of seeds and tasks the nearest below the board's counts.
    """
    seeds = len({score.seed for score in board.scores})
    tasks = len({score.task for score in board.scores})
    bounded = board.ranking == "mean" and board.primary.fails_beyond is not None
    brackets = "mean, runs may fail" if bounded else INTERVALS[board.ranking]
    ranks = "ranks, runs may fail" if bounded else "ranks" + ", paired" * board.plan.suite.paired
    parts = []
    if missed := _often(brackets, seeds, tasks):
        parts.append(f"a bracket misses the truth in {missed}")
    if board.places and (false := _often(ranks, seeds, tasks)):
        parts.append(f"a board has a false rank in {false}")
    if not parts:
        return ""
    return f"In simulations of this size {'; '.join(parts)} (docs/coverage.md)."


def _often(printed: str, seeds: int, tasks: int) -> str:
    """The shares that are too large, and of which runs."""
    wrongs = errors(printed, seeds, tasks)
    return " and ".join(f"{100 * wrong:.0f} % ({runs})" for runs, wrong in wrongs)


def errors(printed: str, seeds: int, tasks: int) -> list[tuple[str, float]]:
    """By law of the runs, how often what is printed is wrong, where that is above the limit."""
    known = [row for row in _table() if row["printed"] == printed]
    for name, most in (("tasks", tasks), ("seeds", seeds)):
        nearest = max((int(row[name]) for row in known if int(row[name]) <= most), default=0)
        known = [row for row in known if int(row[name]) == nearest]
    return [
        (row["runs"], float(row["wrong"]))
        for row in known
        if float(row["wrong"]) > LIMIT + 2 * math.sqrt(LIMIT * (1 - LIMIT) / int(row["simulated"]))
    ]


@cache
def _table() -> tuple[dict[str, str], ...]:
    with files("uqbench.boards").joinpath("coverage.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
