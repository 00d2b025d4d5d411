"""How often what boards print is wrong, under planted laws: makes benchmarks/planted_laws.csv.

    python benchmarks/planted_laws.py [--boards 1500]

Rows that the file has are kept: only what it lacks is simulated. Everything is simulated with the
functions that boards and claims call, nominal 5 %. An interval is wrong where it misses the true
value. The laws: normal; log-normal (σ = 1); runs of which one in five fails (0 instead of 1, both
with a standard deviation of 0.1), one in two or one in five learns, or which fail on one of five
tasks alone. How often pairs of a board's methods are told apart: ``benchmarks/pair_intervals.py``.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from uqbench_claims.kinds.ratio import Ratio

from uqbench.contract.claim import Interval
from uqbench.statistics.bounded import SHARE, Apart, BoundedMean, Ranges, mean_of, share
from uqbench.statistics.concordance import concordance
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import location, paired_difference

TABLE = Path(__file__).with_suffix(".csv")
SEEDS = (3, 5, 8, 10, 20)
TASKS = (1, 5)
RANGE = (-0.5, 1.5)
FAILS = 0.2

Matrix = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Matrix]
Row = dict[str, str | int | float]


def noise(generator: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Cut at five standard deviations of 0.1, so that it has a range."""
    return 0.1 * np.clip(generator.standard_normal(shape), -5, 5)


def succeeds(often: float, generator: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Runs near 1, so often, or near 0."""
    return np.where(generator.random(shape) < often, 1.0, 0.0) + noise(generator, shape)


def one_task_fails(generator: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Mean 0.8; on the last task one run in five fails, on others none."""
    values = 1 - FAILS + noise(generator, shape)
    values[..., -1:] = succeeds(1 - FAILS, generator, (*shape[:-1], 1))
    return values


LAWS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda g, shape: g.standard_normal(shape), 0.0),
    "log-normal": (lambda g, shape: g.lognormal(size=shape), math.exp(0.5)),
    "one run in five fails": (partial(succeeds, 1 - FAILS), 1 - FAILS),
    "one run in two learns": (partial(succeeds, 0.5), 0.5),
    "one run in five learns": (partial(succeeds, 0.2), 0.2),
    "one run in five fails, on one task": (one_task_fails, 1 - FAILS),
}
SHARES = {
    "near 0.5 ± 0.1": (0.5, 0.1),
    "near 0.97 ± 0.03": (0.97, 0.03),
    "near 0.02 ± 0.03": (0.02, 0.03),
    "one run in ten at 0.3, others at 1": (0.93, 0.0),
    "tasks differ": (0.5, 0.04),
}


def interval_errors(
    generator: np.random.Generator, law: str, seeds: int, tasks: int
) -> Iterator[tuple[str, Interval | None, float]]:
    """What is printed, its interval, and the true value."""
    draw, mean = LAWS[law]
    first, second = draw(generator, (seeds, tasks)), draw(generator, (seeds, tasks))
    of, other = location(first, "mean"), location(second, "mean")
    yield "mean", of.interval(ALPHA), mean
    if tasks > 1:
        yield "IQM", location(first, "iqm").interval(ALPHA), true_iqm(law, seeds, tasks)
        yield "median over tasks", location(first, "median").interval(ALPHA), mean
    if ranges := ranges_of(law, tasks):
        one, two = (mean_of(runs, ranges) for runs in (first, second))
        yield "mean, runs may fail", one.interval(ALPHA), mean
        yield "difference, runs may fail", Apart(one, two).interval(ALPHA), 0.0
    yield "difference of means", of.plus(-1.0, other).interval(ALPHA), 0.0
    scaled = location(mean + 3 * (second - mean), "mean")
    yield "difference, one × 3", of.plus(-1.0, scaled).interval(ALPHA), 0.0
    if mean:
        yield "ratio of means", Ratio(of, other).interval(ALPHA), 1.0
    shared = draw(generator, (seeds, 1))
    pair = paired_difference(first + shared, second + shared, "mean", "seeds")
    yield "paired difference", pair.interval(ALPHA), 0.0
    groups = [list(both) for both in zip(first.T, second.T, strict=True)]
    yield "P(better), trend", concordance(groups).interval(ALPHA), 0.5
    groups = [[a, b] for a, b in zip(first.T, (mean + 3 * (second - mean)).T, strict=True)]
    if law == "normal":
        yield "P(better), one × 3", concordance(groups).interval(ALPHA), 0.5
        world = generator.standard_normal((seeds, 1))
        wins = math.sqrt(0.9) * world + math.sqrt(0.1) * generator.standard_normal((seeds, tasks))
        yield (
            "share, tasks correlate by 0.9",
            share(np.asarray(wins > 0.0, dtype=np.float64)).interval(ALPHA),
            0.5,
        )


def ranges_of(law: str, tasks: int) -> Ranges | None:
    """Of each task, where its runs may fail; None where none may."""
    if " run in " not in law:
        return None
    return [None if "on one task" in law and k < tasks - 1 else RANGE for k in range(tasks)]


_IQM: dict[tuple[str, int, int], float] = {}


def true_iqm(law: str, seeds: int, tasks: int) -> float:
    """What an IQM of that many runs is on average."""
    key = law, seeds, tasks
    if key not in _IQM:
        values = np.sort(LAWS[law][0](np.random.default_rng(1), (20_000, seeds * tasks)), axis=1)
        cut = seeds * tasks // 4
        _IQM[key] = float(values[:, cut : seeds * tasks - cut].mean())
    return _IQM[key]


def shares_of(generator: np.random.Generator, law: str, shape: tuple[int, int]) -> Matrix:
    """Shares, such as of truths inside stated intervals, one a run, of a law of ``SHARES``."""
    mean, deviation = SHARES[law]
    if law == "one run in ten at 0.3, others at 1":
        return np.where(generator.random(shape) < 0.1, 0.3, 1.0)
    tasks = np.resize([0.05, 0.3, 0.5, 0.7, 0.95], shape[1]) if law == "tasks differ" else mean
    size = tasks * (1 - tasks) / deviation**2 - 1
    return generator.beta(tasks * size, (1 - tasks) * size, shape)


def measure(boards: int, known: set[tuple[str, str, int, int]]) -> Iterator[Row]:
    """All rows of the table that are not known: what is printed, of which runs, tasks, seeds."""
    for tasks in TASKS:
        for seeds in SEEDS:
            there = {(what, law) for what, law, *size in known if size == [tasks, seeds]}
            for (what, law), wrong in found(boards, tasks, seeds, there).items():
                yield {
                    "printed": what,
                    "runs": law,
                    "tasks": tasks,
                    "seeds": seeds,
                    "simulated": len(wrong),
                    "wrong": round(float(np.mean(wrong)), 4),
                }


def found(
    boards: int, tasks: int, seeds: int, known: set[tuple[str, str]]
) -> dict[tuple[str, str], list[bool]]:
    """By what is printed and its law, whether it was wrong in each simulation."""
    generator = np.random.default_rng([tasks, seeds])
    wrong: dict[tuple[str, str], list[bool]] = {}
    for law, (mean, _) in SHARES.items():
        if ("share", law) in known or (tasks == 1 and law == "tasks differ"):
            continue
        for _ in range(boards):
            values = shares_of(generator, law, (seeds, tasks))
            low, high = BoundedMean.of(values, [SHARE] * tasks).interval(ALPHA)
            wrong.setdefault(("share", law), []).append(not low <= mean <= high)
    for law in LAWS:
        if ("difference of means", law) in known or (tasks == 1 and "on one task" in law):
            continue
        for _ in range(boards):
            for what, interval, true in interval_errors(generator, law, seeds, tasks):
                low, high = interval or (-math.inf, math.inf)
                if (what, law) not in known:
                    wrong.setdefault((what, law), []).append(not low <= true <= high)
    return wrong


def sizes(row: Row) -> tuple[str, str, int, int]:
    """What a row is of."""
    return str(row["printed"]), str(row["runs"]), int(row["tasks"]), int(row["seeds"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=1_500)
    arguments = parser.parse_args()
    table: list[Row] = []
    if TABLE.exists():
        with TABLE.open(newline="", encoding="utf-8") as file:
            table = [{**row} for row in csv.DictReader(file)]
    for row in measure(arguments.boards, set(map(sizes, table))):
        print(*row.values(), sep=", ", flush=True)
        table.append(row)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
