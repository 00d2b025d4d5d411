"""How often what a board prints is wrong, from simulations: ``coverage.csv``, docs/coverage.md."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from uqbench.boards.standings import ranges_by_task
from uqbench.contract.seeding import derive_seed

if TYPE_CHECKING:
    from uqbench.boards.leaderboard import Board

LIMIT = 0.06
"""What is wrong more often, of nominal 5 %, says so beside it."""
INTERVALS = {"mean": "mean", "iqm": "IQM", "median": "median over tasks"}
FAILS = 0.2
SIMULATED = 200
"""Boards of a law that a board's runs are held against."""

Matrix = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Matrix]


def one_in_five(generator: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Mean 0.8; noise is cut at five standard deviations, so that it has a range."""
    noise = 0.1 * np.clip(generator.standard_normal(shape), -5, 5)
    return np.where(generator.random(shape) < FAILS, 0.0, 1.0) + noise


def half_fail(generator: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Of runs ``[…, methods, seeds, tasks]`` those of every second method fail, one in five."""
    values = one_in_five(generator, shape)
    others = values[..., 1::2, :, :]
    others[:] = 1 - FAILS + 0.1 * np.clip(generator.standard_normal(others.shape), -5, 5)
    return values


LAWS: dict[str, Draw] = {
    "normal": lambda generator, shape: generator.standard_normal(shape),
    "log-normal": lambda generator, shape: generator.lognormal(size=shape),
    "one run in five fails": one_in_five,
    "one run in five of every second method fails": half_fail,
}
TIMES_3 = "log-normal, × 3 for every second method"


def coverage_note(board: Board) -> str:
    """How often brackets and ranks of such runs are wrong; empty where rarely.

    Of the simulated numbers of seeds and tasks the nearest below the board's counts, and of the
    simulated laws those that its runs do not rule out.
    """
    cells = board.scores.cells
    seeds = len({seed for cell in cells for seed in cell.seeds})
    names = sorted({cell.task for cell in cells})
    tasks, ranges = len(names), ranges_by_task(board.plan.suite, board.primary, names)
    bounded = board.ranking == "mean" and ranges is not None
    brackets = "mean, runs may fail" if bounded else INTERVALS[board.ranking]
    ranks = "ranks, runs may fail" if bounded else "ranks" + ", paired" * board.plan.suite.paired
    runs = [of for name, of in board.matrices.items() if board.plan.roles[name] == "method"]
    parts = []
    if missed := _often(brackets, seeds, tasks, runs):
        parts.append(f"a bracket misses the truth in {missed}")
    if board.places and (false := _often(ranks, seeds, tasks, runs)):
        parts.append(f"a board has a false rank in {false}")
    if not parts:
        return ""
    return (
        f"These runs do not rule out laws of which, in simulations of this size, "
        f"{'; '.join(parts)} (docs/coverage.md)."
    )


def _often(printed: str, seeds: int, tasks: int, runs: Sequence[Matrix]) -> str:
    """The shares that are too large, and of which runs."""
    wrongs = [of for of in errors(printed, seeds, tasks) if possible(of[0], runs)]
    return " and ".join(f"{100 * wrong:.0f} % ({law})" for law, wrong in wrongs)


def errors(printed: str, seeds: int, tasks: int) -> list[tuple[str, float]]:
    """By law of the runs, how often what is printed is wrong, where that is above the limit."""
    known = [row for row in _table() if row["printed"] == printed]
    for name, most in (("tasks", tasks), ("seeds", seeds)):
        nearest = max((int(row[name]) for row in known if int(row[name]) <= most), default=0)
        known = [row for row in known if int(row[name]) == nearest]
    found = [(row["runs"], float(row["wrong"]), int(row["simulated"])) for row in known]
    return [(law, wrong) for law, wrong, number in found if above(wrong, number)]


def above(wrong: float, simulated: int) -> bool:
    """Whether a share is above the limit by more than its standard error."""
    return wrong > LIMIT + math.sqrt(LIMIT * (1 - LIMIT) / simulated)


def possible(law: str, runs: Sequence[Matrix]) -> bool:
    """Whether methods' runs, ``[seeds, tasks]`` each with its own seeds, may be of such a law.

    They are not where 39 of 40 boards of the law have more skewed runs, or methods whose spreads
    differ more. What is not simulated by name is possible.
    """
    draw = LAWS["log-normal"] if law == TIMES_3 else LAWS.get(law)
    if draw is None or not runs:
        return True
    generator = np.random.default_rng(derive_seed("laws", law))
    most, tasks = max(len(of) for of in runs), runs[0].shape[1]
    simulated = draw(generator, (SIMULATED, len(runs), most, tasks))
    if law == TIMES_3:
        simulated[:, 1::2] *= 3
    as_many = [simulated[:, k, : len(of)] for k, of in enumerate(runs)]
    least = np.quantile(_shape(as_many), 1 / 40, axis=1)
    return bool((_shape([of[None] for of in runs])[:, 0] >= least).all())


def _shape(methods: Sequence[Matrix]) -> Matrix:
    """Skewness and differences of spread, ``[2, boards]``, of methods' ``[boards, seeds, tasks]``.

    The mean over methods of the runs' skewness, whatever its sign, and the methods' standard
    deviation of the logarithm of the runs' one.
    """
    skewness, spreads = [], []
    for values in methods:
        errors = values - values.mean(axis=1, keepdims=True)
        spread = np.sqrt((errors**2).mean(axis=1, keepdims=True)) + np.finfo(float).tiny
        skewness.append(np.abs(((errors / spread) ** 3).mean(axis=(1, 2))))
        spreads.append(np.log(spread).mean(axis=(1, 2)))
    return np.stack([np.mean(skewness, axis=0), np.std(spreads, axis=0)])


@cache
def _table() -> tuple[dict[str, str], ...]:
    with files("uqbench.boards").joinpath("coverage.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
