"""How often the intervals of leaderboards and claims cover: makes docs/coverage.md.

    python benchmarks/interval_coverage.py

Writes docs/coverage.md, and the table that boards quote.

Simulated runs whose mean is known: normal; log-normal (σ = 1); one run in five fails (1 with spread
0.1, and 0 instead of 1 with probability 1/5). Each cell is the share of simulated boards whose
interval covers the true value.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uqbench.statistics.aggregate import aggregate
from uqbench.statistics.estimate import Failures, estimate

ROOT = Path(__file__).parents[1]
SEEDS = (3, 5, 10, 20)
TASKS = (1, 5)
SIMULATIONS = 2_000
RLIABLE_RESAMPLES = 500
TARGET = 0.93
RANGE = (-0.5, 1.5)
FAILS = 0.2

Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def one_in_five(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    failed = generator.random(shape) < FAILS
    # cut at five spreads, so that the range holds
    noise = 0.1 * np.clip(generator.standard_normal(shape), -5, 5)
    return np.where(failed, 0.0, 1.0) + noise


DISTRIBUTIONS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda g, shape: g.standard_normal(shape), 0.0),
    "log-normal": (lambda g, shape: g.lognormal(size=shape), float(np.exp(0.5))),
    "one in five fails": (one_in_five, 1 - FAILS),
}


def true_iqm(draw: Draw, runs: int, tasks: int) -> float:
    """Mean of the interquartile means of such boards: what an IQM of so few runs estimates."""
    from uqbench.statistics.statistic import iqm

    generator = np.random.default_rng(1)
    return float(np.mean([iqm(draw(generator, (5_000, runs, tasks))).mean() for _ in range(20)]))


def measure(simulations: int) -> list[dict[str, str | int | float]]:
    rows: list[dict[str, str | int | float]] = []
    for drawn_from, (draw, mean) in DISTRIBUTIONS.items():
        for tasks in TASKS:
            for seeds in SEEDS:
                generator = np.random.default_rng(0)
                truths = {"mean": mean, "iqm": true_iqm(draw, seeds, tasks)}
                covered = dict.fromkeys(("mean", "iqm", "bounded", "percentile"), 0)
                for number in range(simulations):
                    values = draw(generator, (seeds, tasks))
                    for name in ("mean", "iqm"):
                        covered[name] += _covers(estimate(name, values), truths[name])
                    if drawn_from == "one in five fails":
                        given = estimate("mean", values, Failures(RANGE))
                        covered["bounded"] += _covers(given, mean)
                    percentile = aggregate(values, seed=number, repetitions=RLIABLE_RESAMPLES)
                    covered["percentile"] += _covers(percentile["mean"], mean)
                row: dict[str, str | int | float] = {
                    "distribution": name,
                    "tasks": tasks,
                    "seeds": seeds,
                }
                row |= {name: round(count / simulations, 3) for name, count in covered.items()}
                if drawn_from != "one in five fails":
                    row["bounded"] = ""
                print(row, flush=True)
                rows.append(row)
    return rows


def _covers(given: object, truth: float) -> bool:
    return bool(given.low <= truth <= given.high)  # type: ignore[attr-defined]


def page(rows: list[dict[str, str | int | float]], simulations: int) -> str:
    kinds = {
        "mean": "mean",
        "bounded": "mean, runs may fail, range known",
        "iqm": "IQM",
        "percentile": "rliable's percentile interval of the mean",
    }
    lines = [
        "# What the intervals cover",
        "",
        f"Made by `python benchmarks/interval_coverage.py`: {simulations:,} simulated boards a",
        "cell, nominal 95 %, seeds of the generator fixed; a cell's standard error is at most 1.1",
        "points. Cells below 93 % are marked ✗; a board of that many seeds and tasks says what its",
        "intervals cover.",
        "",
        "The distributions: normal; log-normal with σ = 1; and runs near 1 of which one in five",
        "fails and is near 0. The IQM is held against what an IQM of that many runs is on average.",
    ]
    for tasks in TASKS:
        lines += ["", f"## {tasks} task{'s'[: tasks > 1]}", ""]
        lines += [f"| distribution | interval of | {' | '.join(f'{n} seeds' for n in SEEDS)} |"]
        lines += [f"| --- | --- |{' --- |' * len(SEEDS)}"]
        for drawn_from in DISTRIBUTIONS:
            for kind, words in kinds.items():
                found = [r for r in rows if (r["distribution"], r["tasks"]) == (drawn_from, tasks)]
                if found[0][kind] == "" or (kind == "iqm" and tasks == 1):
                    continue
                cells = [_cell(float(r[kind])) for r in found]
                lines.append(f"| {drawn_from} | {words} | {' | '.join(cells)} |")
    lines += [
        "",
        "Why some cells stay below: three to ten runs of which none failed say nothing of the one",
        "in five that does, and no interval that looks at spread alone can. A metric whose runs",
        "may fail states so (`fails_beyond`) with its range (`lowest`, `highest`); its mean then",
        "has the interval of the row “range known”, which covers whatever the distribution. Runs",
        "as skewed as these log-normal ones have means that a few runs do not show.",
        "",
    ]
    return "\n".join(lines)


def _cell(share: float) -> str:
    return f"{100 * share:.1f} %" + (" ✗" if share < TARGET else "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    arguments = parser.parse_args()
    found = measure(arguments.simulations)
    (ROOT / "docs" / "coverage.md").write_text(page(found, arguments.simulations), encoding="utf-8")
    with (ROOT / "uqbench" / "boards" / "coverage.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
