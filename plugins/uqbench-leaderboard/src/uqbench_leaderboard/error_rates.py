"""``errors.csv``: how often equal methods are told apart, and brackets miss, on boards like this.

The rows of a drawn board have all the same mean, and else what the board's own runs show: as many,
normal, of the same spread on each task, in a paired suite with the seeds' covariance. In each row
the run that is furthest from its others is kept: every drawn run falls, or rises, as far with
probability 1/n, that of a seed together. Where a metric has a range, runs are beta-distributed with
the row's variance. Runs are not resampled: repeated ones make a correct procedure err in up to
three times as many boards. What no run has shown, drawing cannot show: see ``docs/statistics.md``.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from uqbench.boards.leaderboard import COMPARED, Board
from uqbench.boards.matrices import Matrix
from uqbench.boards.standings import ranges_by_task
from uqbench.contract.board_table import BoardTable
from uqbench.contract.claim import Paired
from uqbench.contract.seeding import derive_seed
from uqbench.contract.wording import count
from uqbench.results.files import reading
from uqbench.statistics.bounded import Ranges
from uqbench.statistics.estimate import estimate
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.ranks import measure, together
from uqbench.statistics.statistic import contributions

BRACKET, RANK = "bracket", "rank"
WRONG = {
    BRACKET: "of the 95 % intervals missed the true mean",
    RANK: "of the boards showed a difference where there is none",
}
"""What is printed, and that it is wrong, in words."""
COLUMNS = ("printed", "wrong", "error", "boards", "above")
BOARDS = 500
FEWEST, WORK = 30, 500_000
"""Boards, and runs in all of them of known range, each of which has thousands of weights."""
SURELY = 0.01
"""How rare so many errors are at 5 % where a board is said to have more."""


@dataclass(frozen=True)
class Errors(BoardTable):
    """The table ``errors.csv`` (:class:`uqbench.contract.board_table.BoardTable`)."""

    board: Board
    kept = True  # it takes seconds to minutes

    @property
    def frame(self) -> pd.DataFrame:
        """A row of what is printed; none of fewer than three seeds."""
        board, roles = self.board, self.board.plan.roles
        tasks = sorted({cell.task for cell in board.scores.cells})
        wrong = error_rates(
            {name: of for name, of in board.matrices.items() if roles[name] in COMPARED},
            board.ranking,
            paired=board.plan.suite.pairing,
            ranks=board.ranks,
            ranges=ranges_by_task(board.plan.suite, board.primary, tasks),
            baselines=[name for name, role in roles.items() if role == "trivial"],
        )
        rows = [
            {
                "printed": what,
                "wrong": f"{np.mean(shares):.4f}",
                "error": f"{max(np.std(shares), len(shares) ** -0.5) / len(shares) ** 0.5:.4f}",
                "boards": str(len(shares)),
                "above": "yes" if what == RANK and is_above(shares) else "no",
            }
            for what, shares in wrong.items()
            if shares
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @staticmethod
    def sentence(stored: str) -> str:
        """The error rates in a sentence or two; empty without any."""
        rows = list(csv.DictReader(io.StringIO(stored)))
        if not rows or "above" not in rows[0]:  # older boards have the errors of resampled runs
            return ""
        with reading("errors.csv", KeyError, ValueError, TypeError):
            said = [f"{100 * float(row['wrong']):.0f} % {WRONG[row['printed']]}" for row in rows]
            error = round(max([1.0, *(100 * float(row["error"]) for row in rows)]))
            surely = any(row["above"] == "yes" for row in rows)
        return (
            f"A check by simulation, of {rows[0]['boards']} boards of equally good methods whose "
            f"runs vary as here: {' and '.join(said)} (± {count(error, 'percentage point')}, "
            f"`errors.csv`). Failures rarer than those seen are not simulated."
            + " **Ranks are less sure here than 95 %.**"
            * surely
        )


def is_above(wrong: Sequence[float]) -> bool:
    """Whether more boards are wrong than the level of 5 % lets expect, by a binomial test."""
    from scipy.special import bdtrc  # where it is needed: it takes a while

    return bool(bdtrc(round(sum(wrong)) - 1, len(wrong), ALPHA) <= SURELY)


def error_rates(
    rows: Mapping[str, Matrix],
    statistic: str,
    *,
    paired: Paired,
    ranks: bool = True,
    ranges: Ranges | None = None,
    baselines: Sequence[str] = (),
) -> dict[str, list[float]]:
    """The share of what is printed that is wrong, on each of the drawn boards.

    Args:
        rows: the scores of each, ``[runs, tasks]``; those of too few runs have no interval.
        statistic: that ranks.
        paired: whether runs, or seeds with all their tasks, are compared one by one.
        ranks: whether there are any.
        ranges: of the metric on each task, where its runs may fail.
        baselines: rows that are compared with methods and not with one another.
    """
    wrong: dict[str, list[float]] = {BRACKET: [], RANK: []}
    rows = {name: of for name, of in rows.items() if len(of) >= MINIMUM_SEEDS}
    if not rows:
        return wrong
    bounded = sum(of is not None for of in ranges or ()) * sum(map(len, rows.values()))
    number = min(BOARDS, max(FEWEST, WORK // max(1, bounded)))
    known = {
        name: of for name, own in rows.items() if (of := contributions(statistic, own)) is not None
    }
    if paired == "seeds":
        known = {name: own.mean(axis=1, keepdims=True) for name, own in known.items()}
        ranges = None if ranges is None or not all(ranges) else [_mean_range(ranges)]
    alike = paired if len(set(map(len, known.values()))) == 1 else ""
    for drawn, true in equal_boards(known, ranges, seedwise=bool(alike), number=number):
        measured = measure(drawn, "mean", ranges, paired=alike) if ranks else {}
        family = together(measured, baselines)
        p = [value for names in family if (value := measured[names].p_value()) is not None]
        if family:
            wrong[RANK].append(some_differ(p, len(family)))
        brackets = [
            estimate("mean", of, ranges) for name, of in drawn.items() if name not in baselines
        ]
        missed = [
            not of.low <= true <= of.high
            for of in brackets
            if of.low is not None and of.high is not None
        ]
        wrong[BRACKET] += [float(np.mean(missed))] if missed else []
    return wrong


def some_differ(p: Sequence[float], family: int) -> bool:
    """Whether any pair of a family of so many differs, by the pairs' own p-values."""
    return min(p, default=1.0) * family <= ALPHA


def equal_boards(
    rows: Mapping[str, Matrix], ranges: Ranges | None, *, seedwise: bool, number: int
) -> Iterator[tuple[dict[str, Matrix], float]]:
    """Boards of rows with the same mean, and that mean.

    Args:
        rows: the runs whose spreads they have, ``[runs, tasks]`` each.
        ranges: of each task, where its runs may fail.
        seedwise: whether the rows met the same seeds' worlds, another on each task.
        number: of boards.
    """
    generator = np.random.default_rng(derive_seed("equal methods"))
    centers = np.mean([of.mean(axis=0) for of in rows.values()], axis=0)
    laws = {name: Law(of) for name, of in rows.items()}
    for _ in range(number):
        if seedwise and ranges is None:
            drawn = _paired(laws, generator)
        else:
            drawn = {name: law.draw(generator) for name, law in laws.items()}
        for name, runs in drawn.items():
            runs += centers
            for k, of in enumerate(ranges or ()):
                if of is not None:
                    variance = rows[name][:, k].var(ddof=1)
                    runs[:, k] = _beta(centers[k], variance, of, len(runs), generator)
        yield drawn, float(centers.mean())


class Law:
    """A row's runs: normal about zero on each task, but for a fall with probability 1/n.

    Args:
        runs: ``[n, tasks]``.

    Attributes:
        rest: deviations of the other runs from their mean; zero in the place of the furthest.
        furthest: its place on each task, ``[tasks]``.
        fall: how far it is from the others' mean, ``[tasks]``.
    """

    def __init__(self, runs: Matrix) -> None:
        n, tasks = runs.shape
        every = np.arange(tasks)
        self.furthest = np.abs(runs - np.median(runs, axis=0)).argmax(axis=0)
        others = (runs.sum(axis=0) - runs[self.furthest, every]) / (n - 1)
        self.rest = runs - others
        self.fall = self.rest[self.furthest, every].copy()
        self.rest[self.furthest, every] = 0.0

    def draw(self, generator: np.random.Generator) -> Matrix:
        """As many independent runs, ``[n, tasks]``."""
        n, spread = len(self.rest), np.sqrt((self.rest**2).sum(axis=0) / (len(self.rest) - 2))
        fallen = generator.random(self.rest.shape) < 1 / n
        normal = generator.standard_normal(self.rest.shape)
        return np.asarray(normal * spread + (fallen - 1 / n) * self.fall)


def _paired(laws: Mapping[str, Law], generator: np.random.Generator) -> dict[str, Matrix]:
    """As many seeds of all rows, with their covariance by task; falls of one come together."""
    n, tasks = next(iter(laws.values())).rest.shape
    normal = generator.standard_normal((tasks, n, n)) / np.sqrt(n - 2)
    fallen = (generator.random((tasks, n, n)) < 1 / n) - 1 / n
    return {
        name: np.einsum("kan,nk->ak", normal, law.rest)
        + fallen[np.arange(tasks), :, law.furthest].T * law.fall
        for name, law in laws.items()
    }


def _beta(
    mean: float, variance: float, of: tuple[float, float], runs: int, generator: np.random.Generator
) -> Matrix:
    """Runs in a range, of a mean and, as far as it has room, of a variance."""
    share = (mean - of[0]) / (of[1] - of[0])
    room = share * (1 - share) * (of[1] - of[0]) ** 2 / variance - 1 if variance else 0.0
    if not variance or not 0 < share < 1:
        return np.full(runs, mean)
    if room <= 0:
        return of[0] + (of[1] - of[0]) * np.asarray(generator.random(runs) < share, np.float64)
    return of[0] + (of[1] - of[0]) * generator.beta(share * room, (1 - share) * room, runs)


def _mean_range(ranges: Ranges) -> tuple[float, float]:
    low, high = np.mean([of for of in ranges if of is not None], axis=0).tolist()
    return low, high
