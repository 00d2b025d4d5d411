"""How often what boards print is wrong, under planted laws: makes benchmarks/planted_laws.csv.

    python benchmarks/planted_laws.py [--boards 300]

Rows that the file has are kept: only what it lacks is simulated. Everything is simulated with the
functions that boards and claims call, nominal 5 %. An interval is wrong where it misses the true
value; ranks are wrong where any of a board's nine rank sets does not hold the method's true place;
an equivalence, where the difference is the margin. The laws: normal; log-normal (σ = 1); runs of
which one in five fails (0 instead of 1, both with a standard deviation of 0.1), one in two or one
in five learns, or which fail on one of five tasks alone. Of the methods of a board, with equal
means: every second one varies three times as much; one varies five times as much; every second one
fails, or one fails in one run of ten, the others never; every second one learns or does not; one is
constant, or all but one are; all meet a skewed world that counts twice for every second one. In
three groups they lie six standard deviations apart.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uqbench.boards.error_rates import false_ranks
from uqbench.contract.claim import Interval
from uqbench.statistics.bounded import SHARE, Apart, BoundedMean, Ranges, mean_of, share
from uqbench.statistics.concordance import concordance
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.location import Difference, Ratio, Value, location, paired_difference

TABLE = Path(__file__).with_suffix(".csv")
SEEDS = (3, 5, 8, 10, 20)
TASKS = (1, 5)
METHODS = 9
INTERVALS_A_BOARD = 5
"""Times as many intervals as boards of ranks are simulated, as they take less time."""
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
TIMES_3 = np.where(np.arange(METHODS) % 2, 3.0, 1.0)
TIMES_2 = np.where(np.arange(METHODS) % 2, 2.0, 1.0)
ONE_TIMES_5 = np.where(np.arange(METHODS) == 0, 5.0, 1.0)
GROUPS: Matrix = np.repeat([0.0, 6.0, 12.0], METHODS // 3)


def interval_errors(
    generator: np.random.Generator, law: str, seeds: int, tasks: int
) -> Iterator[tuple[str, Interval | None, float]]:
    """What is printed, its interval, and the true value."""
    draw, mean = LAWS[law]
    first, second = draw(generator, (seeds, tasks)), draw(generator, (seeds, tasks))
    of, other = location(first, "mean"), location(second, "mean")
    yield "mean", Value(of).interval(ALPHA), mean
    if tasks > 1:
        yield "IQM", Value(location(first, "iqm")).interval(ALPHA), true_iqm(law, seeds, tasks)
        yield "median over tasks", Value(location(first, "median")).interval(ALPHA), mean
    if ranges := ranges_of(law, tasks):
        one, two = (mean_of(runs, ranges) for runs in (first, second))
        yield "mean, runs may fail", one.interval(ALPHA), mean
        yield "difference, runs may fail", Apart(one, two).interval(ALPHA), 0.0
    yield "difference of means", Difference(of, other).interval(ALPHA), 0.0
    scaled = location(mean + 3 * (second - mean), "mean")
    yield "difference, one × 3", Difference(of, scaled).interval(ALPHA), 0.0
    if mean:
        yield "ratio of means", Ratio(of, other).interval(ALPHA), 1.0
    shared = draw(generator, (seeds, 1))
    pair = paired_difference(first + shared, second + shared)
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


def scaled(law: str, factors: Matrix, shifts: Matrix, generator: np.random.Generator,
           shape: tuple[int, ...]) -> Matrix:  # fmt: skip
    """Runs ``[methods, seeds, tasks]`` of a law, times factors about its mean, plus shifts."""
    draw, mean = LAWS[law]
    values = (draw(generator, shape) - mean) * factors[:, None, None]
    return np.asarray(values + shifts[:, None, None])


def some_succeed(which: slice, often: float, deviation: float, generator: np.random.Generator,
                 shape: tuple[int, ...]) -> Matrix:  # fmt: skip
    """Runs of nine methods of one mean, of which some succeed so often, and others always."""
    values = often + deviation * 10 * noise(generator, shape)
    own = values[which]
    own[:] = (generator.random(own.shape) < often) + deviation * 10 * noise(generator, own.shape)
    return values


def shared_world(generator: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Runs whose seed's world is skewed, and counts twice for every second method."""
    world = generator.lognormal(size=shape[1:]) - math.exp(0.5)
    return np.asarray(world * TIMES_2[:, None, None] + 0.3 * generator.standard_normal(shape))


def shares_of(generator: np.random.Generator, law: str, shape: tuple[int, int]) -> Matrix:
    """Shares, such as of truths inside stated intervals, one a run, of a law of ``SHARES``."""
    mean, deviation = SHARES[law]
    if law == "one run in ten at 0.3, others at 1":
        return np.where(generator.random(shape) < 0.1, 0.3, 1.0)
    tasks = np.resize([0.05, 0.3, 0.5, 0.7, 0.95], shape[1]) if law == "tasks differ" else mean
    size = tasks * (1 - tasks) / deviation**2 - 1
    return generator.beta(tasks * size, (1 - tasks) * size, shape)


ONES, ZEROS = np.ones(METHODS), np.zeros(METHODS)
LAST = (np.arange(METHODS) == METHODS - 1) * 1.0
SECOND, ONE = slice(1, None, 2), slice(0, 1)
BOARDS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, ...]], Matrix], Matrix]] = {
    "normal": (partial(scaled, "normal", ONES, ZEROS), ZEROS),
    "normal, × 3 for every second method": (partial(scaled, "normal", TIMES_3, ZEROS), ZEROS),
    "normal, × 5 for one method": (partial(scaled, "normal", ONE_TIMES_5, ZEROS), ZEROS),
    "normal, in groups far apart": (partial(scaled, "normal", ONES, GROUPS), GROUPS),
    "log-normal": (partial(scaled, "log-normal", ONES, ZEROS), ZEROS),
    "log-normal, × 3 for every second method": (
        partial(scaled, "log-normal", TIMES_3, ZEROS),
        ZEROS,
    ),
    "one run in five fails": (partial(scaled, "one run in five fails", ONES, ZEROS), ZEROS),
    "one run in five of every second method fails": (
        partial(some_succeed, SECOND, 0.8, 0.1),
        ZEROS,
    ),
    "one run in ten of one method fails": (partial(some_succeed, ONE, 0.9, 0.02), ZEROS),
    "one run in two of every second method learns": (
        partial(some_succeed, SECOND, 0.5, 0.1),
        ZEROS,
    ),
    "one run in five of every second method learns": (
        partial(some_succeed, SECOND, 0.2, 0.1),
        ZEROS,
    ),
    "one run in five fails, on one task": (
        partial(scaled, "one run in five fails, on one task", ONES, ZEROS),
        ZEROS,
    ),
    "log-normal, one method constant": (partial(scaled, "log-normal", 1 - LAST, ZEROS), ZEROS),
    "log-normal, all but one method constant": (
        partial(scaled, "log-normal", LAST, ZEROS),
        ZEROS,
    ),
    "log-normal world, twice for every second method": (shared_world, ZEROS),
}


def false_board(values: Matrix, true: Matrix, kind: str) -> bool:
    """Whether the rank sets of a board of runs ``[methods, seeds, tasks]`` are wrong."""
    names = [f"m{i}" for i in range(len(values))]
    return false_ranks(
        dict(zip(names, values, strict=True)),
        dict(zip(names, true.tolist(), strict=True)),
        "mean",
        [RANGE] * values.shape[2] if kind == "ranks, runs may fail" else None,
        seedwise=kind == "ranks, paired",
    )


def false_equivalence(generator: np.random.Generator, seeds: int, tasks: int) -> bool:
    """Whether two of nine methods whose means are a margin apart are called equivalent."""
    margin = 2.0
    values = scaled("normal", ONES, np.where(np.arange(METHODS) % 2, margin, 0.0), generator,
                    (METHODS, seeds, tasks))  # fmt: skip
    known = [location(own, "mean") for own in values]
    pairs = METHODS * (METHODS - 1) // 2
    ends = [
        Difference(a, b).interval(2 * ALPHA / pairs)
        for (i, a), (j, b) in combinations(enumerate(known), 2)
        if (i - j) % 2
    ]
    return any(end is not None and max(map(abs, end)) < margin for end in ends)


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
        for _ in range(boards * INTERVALS_A_BOARD):
            values = shares_of(generator, law, (seeds, tasks))
            low, high = BoundedMean.of(values, [SHARE] * tasks).interval(ALPHA)
            wrong.setdefault(("share", law), []).append(not low <= mean <= high)
    for law in LAWS:
        if ("mean", law) in known or (tasks == 1 and "on one task" in law):
            continue
        for _ in range(boards * INTERVALS_A_BOARD):
            for what, interval, true in interval_errors(generator, law, seeds, tasks):
                low, high = interval or (-math.inf, math.inf)
                wrong.setdefault((what, law), []).append(not low <= true <= high)
    for name, (draw, true_means) in BOARDS.items():
        if tasks == 1 and "on one task" in name:
            continue
        kinds = ["ranks"] * ("world" not in name) + ["ranks, paired"] * (seeds > 5)
        kinds += ["ranks, runs may fail"] * (name == "one run in five fails" and seeds > 5)
        for kind in kinds:
            for _ in range(boards if (kind, name) not in known else 0):
                values = draw(generator, (METHODS, seeds, tasks))
                # bounds are those of runs as they are
                own = values + 0.8 if kind.endswith("fail") else values
                wrong.setdefault((kind, name), []).append(false_board(own, true_means, kind))
    margin = "equivalence at the margin", "normal"
    for _ in range(boards if margin not in known else 0):
        wrong.setdefault(margin, []).append(false_equivalence(generator, seeds, tasks))
    return wrong


def sizes(row: Row) -> tuple[str, str, int, int]:
    """What a row is of."""
    return str(row["printed"]), str(row["runs"]), int(row["tasks"]), int(row["seeds"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=300)
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
