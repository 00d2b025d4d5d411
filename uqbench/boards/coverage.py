"""How often what a board prints errs, from simulations: ``coverage.csv``, see docs/coverage.md."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from uqbench.amounts import count
from uqbench.boards.tables import label

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board

WORSE = 0.06
"""Where surely more than this errs of what states 5 %, by two standard errors, boards say so."""


def coverage_note(board: Board) -> str:
    """What errs more than it states with so few seeds and tasks; empty where nothing does."""
    seeds, tasks = simulated(
        len({score.seed for score in board.scores}), len({score.task for score in board.scores})
    )
    worse = [
        f"{words} {', '.join(f'{100 * share:.0f} % ({law})' for law, share in found.items())}"
        for name, words in _printed(board).items()
        if (found := errors(name, seeds, tasks))
    ]
    if not worse:
        return ""
    return (
        f"Of simulated boards of {count(seeds, 'seed')} on {count(tasks, 'task')} more err than "
        f"the 5 % that is stated (docs/coverage.md): {'; '.join(worse)}."
    )


def _printed(board: Board) -> dict[str, str]:
    """What the board prints, by its name in the table, in words."""
    bounded = board.ranking == "mean" and board.primary.fails_beyond is not None
    interval = "bounded mean" if bounded else board.ranking
    printed = {
        interval: f"intervals of the {label(interval)} miss",
        "worst_quarter": "those of the worst quarter",
    }
    if board.places and board.ranking == "mean":
        kind = ", runs may fail" if bounded else ", paired" * board.plan.suite.paired
        printed[f"ranks{kind}"] = "ranks tell equal methods apart in"
    return printed


def simulated(seeds: int, tasks: int) -> tuple[int, int]:
    """The simulated numbers of seeds and tasks that are nearest below these, or the least."""
    known = [(int(row["seeds"]), int(row["tasks"])) for row in _table() if row["what"] == "mean"]
    sizes, counts = (sorted(set(numbers)) for numbers in zip(*known, strict=True))
    return (
        max((n for n in sizes if n <= seeds), default=sizes[0]),
        max((n for n in counts if n <= tasks), default=counts[0]),
    )


def errors(what: str, seeds: int, tasks: int) -> Mapping[str, float]:
    """The share of simulated boards that err, by law of the runs, where it is surely too large."""
    return {
        row["law"]: float(row["error"])
        for row in _table()
        if (row["what"], row["seeds"], row["tasks"]) == (what, str(seeds), str(tasks))
        and float(row["error"]) - 2 * float(row["se"]) > WORSE
    }


@cache
def _table() -> tuple[dict[str, str], ...]:
    with files("uqbench.boards").joinpath("coverage.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
