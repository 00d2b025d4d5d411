"""How often what boards print errs: makes docs/coverage.md and the table that boards quote.

    python benchmarks/interval_coverage.py

Simulated boards whose truth is known, nominal error 5 %. An interval errs where it misses the true
value; ranks err where any of the 9 methods is told apart from an equal one. All laws have equal
means, but for that of groups. Each cell is a share of simulated boards, with its standard error.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from uqbench.claims.sequential import interim_schedule
from uqbench.statistics import bootstrap
from uqbench.statistics.bounded import BoundedDifference, BoundedMean, lowest_mean
from uqbench.statistics.estimate import Estimate, Failures, estimate, improvement, share
from uqbench.statistics.interim_analyses import level
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.proportion import Proportion
from uqbench.statistics.ranks import compare, holm
from uqbench.statistics.statistic import batched

ROOT = Path(__file__).parents[1]
SEEDS = (3, 5, 8, 10, 20)
TASKS = (1, 5)
METHODS = 9
RESAMPLES = 400
"""Of the bootstrap, instead of its own number: what differs is small beside a cell's error."""
MOST = 40
"""Seeds of the last interim analysis."""
RANGE = (-0.5, 1.5)
FAILS = 0.2
WORSE = 0.06
"""Errors surely above it are marked, and boards say so."""

Array = NDArray[np.float64]
Law = Callable[[np.random.Generator, tuple[int, ...]], Array]
"""Draws ``[S, methods, seeds, tasks]``."""
Row = dict[str, str | int | float]


def one_in_five(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Near 1, and one run in five near 0."""
    failed = generator.random(shape) < FAILS
    return np.where(failed, 0.0, 1.0) + noise(generator, shape)


def noise(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Cut at five spreads, so that the range holds."""
    return 0.1 * np.clip(generator.standard_normal(shape), -5, 5)


def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Mean 0, spread 1."""
    return generator.standard_normal(shape)


def log_normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """σ = 1, less its mean."""
    return generator.lognormal(size=shape) - math.exp(0.5)


def spread(law: Law, which: slice, factor: float) -> Law:
    """Some of the methods vary more."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        values = law(generator, shape)
        values[:, which] *= factor
        return values

    return draw


def half_fail(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Every second method fails in one run of five, and the others never."""
    values = one_in_five(generator, shape)
    others = values[:, 1::2].shape
    values[:, 1::2] = 1 - FAILS + noise(generator, others)
    return values


def groups(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Three groups of equal methods, twenty spreads apart."""
    of = np.arange(shape[1]) // 3
    return normal(generator, shape) + 20.0 * of[:, None, None]


LAWS: dict[str, Law] = {
    "normal": normal,
    "log-normal": log_normal,
    "normal, every second spreads ×3": spread(normal, slice(1, None, 2), 3),
    "normal, one spreads ×5": spread(normal, slice(0, 1), 5),
    "log-normal, every second spreads ×3": spread(log_normal, slice(1, None, 2), 3),
    "one in five fails": one_in_five,
    "every second method fails in one of five": half_fail,
    "three groups far apart": groups,
}
SINGLE = {"normal": 0.0, "log-normal": 0.0, "one in five fails": 1 - FAILS}
"""Laws of one method's runs, and their means."""


def row(what: str, law: str, tasks: int, seeds: int, errors: NDArray[np.bool_]) -> Row:
    error = float(errors.mean())
    se = math.sqrt(max(error * (1 - error), 1 / len(errors)) / len(errors))
    return {
        "what": what, "law": law, "tasks": tasks, "seeds": seeds,
        "error": round(error, 4), "se": round(se, 4),
    }  # fmt: skip


def sizes() -> Iterator[tuple[int, int]]:
    return ((tasks, seeds) for tasks in TASKS for seeds in SEEDS)


# -- intervals ------------------------------------------------------------------------------------


def means(simulations: int) -> Iterator[Row]:
    """Student's intervals of means."""
    for law, truth in SINGLE.items():
        for tasks, seeds in sizes():
            values = LAWS[law](np.random.default_rng(0), (simulations, 1, seeds, tasks))[:, 0]
            mean, variance, degrees = moments(values)
            p = 2 * stdtr(degrees, -np.abs(mean - truth) / np.sqrt(variance))
            given = estimate("mean", values[0])
            low = given.low is not None and not given.low <= truth <= float(given.high or 0)
            assert low == (p[0] <= ALPHA)
            yield row("mean", law, tasks, seeds, p <= ALPHA)


def statistics(simulations: int) -> Iterator[Row]:
    """The other intervals, one board at a time; held against what so many runs have on average."""
    for law, mean in SINGLE.items():
        for tasks, seeds in sizes():
            many = LAWS[law](np.random.default_rng(1), (100_000 // seeds, 1, seeds, tasks))[:, 0]
            values = LAWS[law](np.random.default_rng(0), (simulations, 1, seeds, tasks))[:, 0]
            for name in ("iqm", "median", "worst_quarter", "optimality_gap"):
                if name == "median" and tasks == 1:
                    continue
                truth = float(batched(name)(many).mean())
                yield row(
                    name, law, tasks, seeds, missed((estimate(name, v) for v in values), truth)
                )
            yield row("rliable's percentile mean", law, tasks, seeds, percentile(values, mean))
            if law == "one in five fails":
                bounded = (estimate("mean", v, Failures(RANGE)) for v in values)
                yield row("bounded mean", law, tasks, seeds, missed(bounded, mean))
                failed = (share(v < 0.5) for v in values)
                yield row("fail share", law, tasks, seeds, missed(failed, FAILS))


def percentile(values: Array, truth: float) -> NDArray[np.bool_]:
    """Whether the percentiles of the stratified bootstrap of ``[S, seeds, tasks]`` miss."""
    generator, (seeds, tasks) = np.random.default_rng(2), values.shape[1:]
    drawn = generator.integers(seeds, size=(500, seeds, tasks))
    means = values[:, drawn, np.arange(tasks)].mean(axis=(-1, -2))
    low, high = np.quantile(means, [ALPHA / 2, 1 - ALPHA / 2], axis=1)
    return np.asarray((truth < low) | (truth > high))


def improvements(simulations: int) -> Iterator[Row]:
    """P(better) of two methods of which neither is."""
    for law in ("normal", "log-normal", "normal, every second spreads ×3"):
        for tasks, seeds in sizes():
            values = LAWS[law](np.random.default_rng(0), (simulations, 2, seeds, tasks))
            found = (improvement(a, b) for a, b in values)
            yield row("P(better)", law, tasks, seeds, missed(found, 0.5))


def paired_shares(simulations: int) -> Iterator[Row]:
    """The share of wins, seed by seed, where the tasks of a seed go together."""
    for correlation in (0.0, 0.9):
        for tasks, seeds in sizes():
            generator = np.random.default_rng(0)
            of_seed = generator.standard_normal((simulations, seeds, 1)) * math.sqrt(correlation)
            rest = generator.standard_normal((simulations, seeds, tasks))
            wins = (of_seed + rest * math.sqrt(1 - correlation) > 0).astype(np.float64)
            shares = [Proportion.of_seeds(one, 2).interval(ALPHA) for one in wins]
            errors = np.array([not low <= 0.5 <= high for low, high in shares])
            law = f"tasks of a seed correlated {correlation:g}"
            yield row("paired share", law, tasks, seeds, errors)


def missed(found: Iterator[Estimate], truth: float) -> NDArray[np.bool_]:
    """Which intervals do not hold the truth; one that is not given misses nothing."""
    return np.array([
        one.low is not None and one.high is not None and not one.low <= truth <= one.high
        for one in found
    ])  # fmt: skip


# -- ranks ----------------------------------------------------------------------------------------


def moments(values: Array) -> tuple[Array, Array, Array]:
    """Means, squared standard errors and degrees of freedom of ``[..., seeds, tasks]``."""
    seeds, tasks = values.shape[-2:]
    cells = values.var(axis=-2, ddof=1) / seeds / tasks**2
    variance = cells.sum(-1)
    degrees = (seeds - 1) * variance**2 / np.maximum((cells**2).sum(-1), 1e-300)
    return values.mean(axis=(-1, -2)), np.maximum(variance, 1e-300), degrees


def p_values(values: Array, paired: bool) -> Array:
    """Of all pairs: ``[S, methods, seeds, tasks]`` to ``[S, pairs]``; as ``ranks.compare``."""
    a, b = np.array(list(combinations(range(values.shape[1]), 2))).T
    if paired:
        seedwise = values.mean(-1, keepdims=True)
        mean, variance, degrees = moments(seedwise[:, a] - seedwise[:, b])
        return np.asarray(2 * stdtr(degrees, -np.abs(mean) / np.sqrt(variance)))
    mean, variance, degrees = moments(values)
    both = variance[:, a] + variance[:, b]
    of = both**2 / (variance[:, a] ** 2 / degrees[:, a] + variance[:, b] ** 2 / degrees[:, b])
    return np.asarray(2 * stdtr(of, -np.abs(mean[:, a] - mean[:, b]) / np.sqrt(both)))


def ranks(simulations: int) -> Iterator[Row]:
    """Whether any two equal methods are told apart, and with pairs of the same seeds."""
    names = [f"m{i}" for i in range(METHODS)]
    for paired in (False, True):
        for law, draw in LAWS.items():
            equal = [
                law != "three groups far apart" or i // 3 == j // 3
                for i, j in combinations(range(METHODS), 2)
            ]
            for tasks, seeds in sizes():
                generator = np.random.default_rng(0)
                values = draw(generator, (simulations, METHODS, seeds, tasks))
                if paired:
                    values += 2 * generator.standard_normal((simulations, 1, seeds, tasks))
                p = p_values(values, paired)
                if seeds == 5:
                    board = dict(zip(names[:3], values[0, :3], strict=True))
                    own = [float(pair.p or 0) for pair in compare(board, "mean", paired=paired)]
                    assert np.allclose(own, p[0, [0, 1, METHODS - 1]])
                wrong = [
                    any(x <= ALPHA and same for x, same in zip(holm(one), equal, strict=True))
                    for one in p[p.min(axis=1) <= ALPHA / p.shape[1]]
                ]
                errors = np.zeros(simulations, bool)
                errors[: sum(wrong)] = True
                yield row("ranks, paired" if paired else "ranks", law, tasks, seeds, errors)


def bounded_ranks(simulations: int) -> Iterator[Row]:
    """The same, of a metric whose runs may fail."""
    at, (low, high) = ALPHA / math.comb(METHODS, 2), RANGE
    for law in ("one in five fails", "every second method fails in one of five"):
        for tasks, seeds in sizes():
            shape = (simulations, METHODS, seeds, tasks)
            values = LAWS[law](np.random.default_rng(0), shape)
            unit = (values.mean(-1) - low) / (high - low)
            least, most = lowest_mean(unit, at / 2), 1 - lowest_mean(1 - unit, at / 2)
            pair = BoundedDifference(*(BoundedMean.of(one, RANGE) for one in values[0, :2]))
            assert math.isclose(pair.interval(at)[0], (least[0, 0] - most[0, 1]) * (high - low))
            errors = least.max(axis=1) > most.min(axis=1)
            yield row("ranks, runs may fail", law, tasks, seeds, errors)


def until_decided(simulations: int) -> Iterator[Row]:
    """Two methods at every interim analysis."""
    schedule = interim_schedule(MOST)
    at = level(ALPHA, schedule)
    for law, draw in LAWS.items():
        if law != "three groups far apart":
            values = draw(np.random.default_rng(0), (simulations, 2, MOST, 1))
            p = np.stack([p_values(values[:, :, :seeds], False)[:, 0] for seeds in schedule])
            yield row("--until-decided, two methods", law, 1, MOST, p.min(axis=0) <= at)


PARTS = (means, statistics, improvements, paired_shares, ranks, bounded_ranks, until_decided)
SIMULATIONS = {means: 10_000, ranks: 2_000, until_decided: 10_000, statistics: 500}
OTHERWISE = 1_000


def page(rows: list[Row]) -> str:
    lines = [
        "# How often what boards print errs",
        "",
        "Made by `python benchmarks/interval_coverage.py`: simulated boards whose truth is known,",
        "nominal error 5 %, seeds of the generator fixed. An interval errs where it misses the",
        f"true value; ranks err where any of {METHODS} methods is told apart from an equal one.",
        "In parentheses the standard error of a cell, in points. Errors surely above 6 % (by two",
        "standard errors) are marked ✗: a board of that many seeds and tasks says them.",
        "",
        "The laws have equal means: normal; log-normal with σ = 1; runs near 1 of which one in",
        "five is near 0; methods that spread differently; and groups of equal methods far apart.",
        "IQM, median, worst quarter and optimality gap are held against what they are on average",
        "in that many runs.",
    ]
    for tasks in TASKS:
        lines += ["", f"## {tasks} task{'s'[: tasks > 1]}", ""]
        lines += [f"| what | runs | {' | '.join(f'{n} seeds' for n in SEEDS)} |"]
        lines += [f"| --- | --- |{' --- |' * len(SEEDS)}"]
        of = [r for r in rows if r["tasks"] == tasks and r["seeds"] != MOST]
        for what, law in dict.fromkeys((r["what"], r["law"]) for r in of):
            cells = [_cell(r) for r in of if (r["what"], r["law"]) == (what, law)]
            lines.append(f"| {what} | {law} | {' | '.join(cells)} |")
    first = interim_schedule(MOST)[0]
    lines += ["", f"## `--until-decided`, from {first} to {MOST} seeds, two methods on a task", ""]
    lines += ["| runs | error |", "| --- | --- |"]
    lines += [f"| {r['law']} | {_cell(r)} |" for r in rows if r["seeds"] == MOST]
    lines += [
        "",
        "Why some cells stay above: three to ten runs of which none failed say nothing of the one",
        "in five that does, and no interval that looks at spread alone can. A metric whose runs",
        "may fail states so (`fails_beyond`) with its range (`lowest`, `highest`): its means have",
        "bounded intervals then, and ranks are decided by these, which holds for any law. Runs as",
        "skewed as these log-normal ones have means that a few runs do not show.",
        "",
    ]
    return "\n".join(lines)


def _cell(found: Row) -> str:
    error, se = float(found["error"]), float(found["se"])
    return f"{100 * error:.1f} ({100 * se:.1f})" + (" ✗" if error - 2 * se > WORSE else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=float, default=1.0, help="times as many as usual")
    scale = parser.parse_args().simulations
    bootstrap.RESAMPLES = RESAMPLES
    found = [
        one for part in PARTS for one in part(max(2, int(scale * SIMULATIONS.get(part, OTHERWISE))))
    ]
    (ROOT / "docs" / "coverage.md").write_text(page(found), encoding="utf-8")
    with (ROOT / "uqbench" / "boards" / "coverage.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
