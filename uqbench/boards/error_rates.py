"""``errors.csv``: how often a board's brackets and ranks are wrong, on runs resampled from its own.

Each method's runs of each task are taken for the law that they are of, and its mean for the truth;
in a paired suite whole seeds are drawn. What no run has shown, resampling cannot show: see
``docs/coverage.md``.
"""

import csv
import io
from collections.abc import Container, Mapping

import numpy as np

from uqbench.boards.leaderboard import Board
from uqbench.boards.matrices import Matrix
from uqbench.boards.standings import limits, ranges_by_task
from uqbench.boards.tables import csv_text
from uqbench.contract.claim import Interval
from uqbench.contract.seeding import derive_seed
from uqbench.statistics.bounded import Ranges
from uqbench.statistics.estimate import estimate
from uqbench.statistics.levels import ALPHA, MINIMUM_SEEDS
from uqbench.statistics.ranks import adjusted_p, measure
from uqbench.statistics.statistic import point

ERRORS = "errors.csv"
COLUMNS = ("printed", "wrong", "error", "resamples")
BRACKET, RANK = "bracket", "rank"
RESAMPLES = 300
FEWEST, WORK = 30, 500_000
"""Resamples, and runs in all of them, where each run has thousands of weights: of known range."""
ENOUGH = 4
"""Methods whose brackets' errors are independent, so that a part of the resamples tells them."""
CHANCE = 499
"""Draws of what comes by chance: enough to know whether a p-value is below 5 %."""


def errors_csv(board: Board) -> str:
    """The table: a row of what is printed; none of fewer than three seeds."""
    suite, roles = board.plan.suite, board.plan.roles
    tasks = sorted({cell.task for cell in board.scores.cells})
    wrong = error_rates(
        {name: of for name, of in board.matrices.items() if roles[name] == "method"},
        board.ranking,
        paired=suite.paired,
        ranks=board.ranks,
        ranges=ranges_by_task(suite, board.primary, tasks),
        ends=None if board.ranking == "iqm" else limits(suite, board.primary, tasks),
        foreign=board.foreign,
    )
    rows = [
        {
            "printed": what,
            "wrong": f"{np.mean(shares):.4f}",
            "error": f"{max(np.std(shares), len(shares) ** -0.5) / len(shares) ** 0.5:.4f}",
            "resamples": str(len(shares)),
        }
        for what, shares in wrong.items()
        if shares
    ]
    return csv_text(rows, COLUMNS)


def error_rates(
    methods: Mapping[str, Matrix],
    statistic: str,
    *,
    paired: bool,
    ranks: bool = True,
    ranges: Ranges | None = None,
    ends: Interval | None = None,
    foreign: Container[str] = (),
) -> dict[str, list[float]]:
    """The share of what is printed that is wrong, on each resample.

    Args:
        methods: the scores of each, ``[runs, tasks]``.
        statistic: that ranks.
        paired: whether seeds with all their tasks are the unit, and are compared one by one.
        ranks: whether there are any.
        ranges: of the metric on each task, where its runs may fail.
        ends: the least and the greatest value that the statistic can have.
        foreign: rows that are not the suite's own.
    """
    wrong: dict[str, list[float]] = {BRACKET: [], RANK: []}
    if min(map(len, methods.values()), default=0) < MINIMUM_SEEDS:
        return wrong
    true = {name: point(statistic, of) for name, of in methods.items()}
    seedwise = paired and len(set(map(len, methods.values()))) == 1
    generator = np.random.default_rng(derive_seed("resampled runs"))
    number = RESAMPLES
    if ranges is not None and all(ranges):
        number = min(number, max(FEWEST, WORK // sum(of.size for of in methods.values())))
    every = 1 if paired or number < RESAMPLES else min(len(methods), ENOUGH)
    for k in range(number):
        runs = resampled(methods, generator, seedwise=paired)
        if ranks and len(runs) > 1:
            wrong[RANK].append(
                false_ranks(runs, true, statistic, ranges, seedwise=seedwise, foreign=foreign)
            )
        missed = []
        for name, of in runs.items() if k % every == 0 else ():
            own = estimate(statistic, of, ranges, clustered=paired, limits=ends)
            if own.low is not None and own.high is not None:
                missed.append(not own.low <= true[name] <= own.high)
        wrong[BRACKET] += [float(np.mean(missed))] if missed else []
    return wrong


def errors_sentence(text: str) -> str:
    """A board's error rates in a sentence, from its ``errors.csv``; empty without any."""
    rows = list(csv.DictReader(io.StringIO(text)))
    words = {BRACKET: "95 % brackets miss in", RANK: "some rank is wrong in"}
    said = [f"{words[row['printed']]} {100 * float(row['wrong']):.0f} %" for row in rows]
    if not said:
        return ""
    error = max(1.0, *(100 * float(row["error"]) for row in rows))
    return (
        f"On resampled runs of this board, {' and '.join(said)}, ± {error:.0f} "
        f"(`{ERRORS}`, docs/coverage.md)."
    )


def resampled(
    methods: Mapping[str, Matrix], generator: np.random.Generator, *, seedwise: bool
) -> dict[str, Matrix]:
    """As many runs of each method, ``[runs, tasks]``, drawn with replacement from its own cells.

    Where ``seedwise``, whole seeds are drawn, of methods with as many seeds the same.
    """
    seeds = {n: generator.integers(n, size=n) for n in sorted(set(map(len, methods.values())))}
    return {
        name: of[seeds[len(of)]]
        if seedwise
        else np.take_along_axis(of, generator.integers(len(of), size=of.shape), axis=0)
        for name, of in methods.items()
    }


def false_ranks(
    scores: Mapping[str, Matrix],
    true: Mapping[str, float],
    statistic: str,
    ranges: Ranges | None = None,
    *,
    seedwise: bool,
    foreign: Container[str] = (),
) -> bool:
    """Whether any rank set does not hold the method's true place.

    Args:
        scores: ``[runs, tasks]`` of each method.
        true: the statistic of each; of two that are equal, either order is false.
        statistic: that ranks.
        ranges: of the metric on each task, where its runs may fail.
        seedwise: whether the methods met the same seeds' worlds.
        foreign: rows that are not the suite's own.
    """
    measured = measure(scores, statistic, ranges, seedwise=seedwise)
    adjusted = adjusted_p(measured, scores, statistic, foreign, CHANCE)
    return any(
        adjusted[a, b] <= ALPHA and of.estimate * (true[a] - true[b]) <= 0
        for (a, b), of in measured.items()
    )
