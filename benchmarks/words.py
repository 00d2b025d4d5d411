"""How often a word for stated 90 % intervals is wrong, by simulation: makes benchmarks/words.csv.

    python benchmarks/words.py [--boards 500] [--truths 128]

Errors of a run are normal, those of one run correlated by rho; intervals are exact, too wide, too
narrow, or just beyond the band. Of other runs some failed: their intervals hold nothing, or all.
A word is wrong where the true share, over all runs that the law can draw, is not what it says;
*open* says nothing. Where tasks share a run, the seed with all of them is one observation.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from uqbench.boards.calibration import CALIBRATED, NARROW, OPEN, WIDE, band, word
from uqbench.statistics.bounded import SHARE
from uqbench.statistics.estimate import estimate

TABLE = Path(__file__).with_suffix(".csv")
DESIGNS = ((3, 1), (5, 1), (10, 1), (3, 5), (10, 2), (20, 1), (10, 5), (20, 5), (40, 2), (100, 5))
EXACT = float(ndtri(0.95))
"""Half-width of a 90 % interval, in standard deviations."""

Shares = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int], int], Shares]


def normal(
    rho: float, width: float, generator: np.random.Generator, shape: tuple[int, int], truths: int
) -> Shares:
    """Shares of truths inside intervals of that half-width, ``[seeds, tasks]``."""
    shared, own = (generator.standard_normal((*shape, n)) for n in (1, truths))
    errors = np.sqrt(rho) * shared + np.sqrt(1 - rho) * own
    return np.asarray((np.abs(errors) < width).mean(axis=-1))


def failing(
    often: float,
    then: float,
    rest: float,
    generator: np.random.Generator,
    shape: tuple[int, int],
    truths: int,
) -> Shares:
    """Shares of runs that fail so ``often``, ``then`` covering that much; the ``rest`` about so."""
    failed = generator.random(shape) < often
    return np.where(failed, then, generator.binomial(truths, rest, shape) / truths)


def whole_seeds(
    draw: Draw, generator: np.random.Generator, shape: tuple[int, int], n: int
) -> Shares:
    """One run has all of a seed's tasks: they go together wholly."""
    return np.repeat(draw(generator, (shape[0], 1), n), shape[1], axis=1)


def laws() -> Iterator[tuple[str, float, bool, Draw]]:
    """Name, true share, whether a seed's tasks are one run, and the draws of its runs."""
    low, high = band(0.9)
    widths = {"exact": EXACT, "twice too wide": 2 * EXACT, "half as wide": EXACT / 2,
              "just below the band": float(ndtri((1 + low - 0.005) / 2)),
              "just above the band": float(ndtri((1 + high + 0.005) / 2))}  # fmt: skip
    for name, width in widths.items():
        for rho in (0.0, 0.5, 0.9):
            true = 2 * float(ndtr(width)) - 1
            yield f"{name}, rho {rho:g}", true, False, partial(normal, rho, width)
    fails = {
        "one run in 15 holds nothing, others 90 %": (1 / 15, 0.0, 0.9),
        "one run in 10 holds nothing, others 95 %": (0.1, 0.0, 0.95),
        "one run in 30 holds nothing, others 90 %": (1 / 30, 0.0, 0.9),
        "one run in 8 holds nothing, others 96.5 %": (1 / 8, 0.0, 0.965),
        "one run in 10 holds all, others 84 %": (0.1, 1.0, 0.84),
        "one run in 10 holds all, others 94.8 %": (0.1, 1.0, 0.948),
        "all or nothing, 90 %": (0.1, 0.0, 1.0),
        "all or nothing, 84 %": (0.16, 0.0, 1.0),
        "all or nothing, 96 %": (0.04, 0.0, 1.0),
    }
    for name, (often, then, rest) in fails.items():
        draw = partial(failing, often, then, rest)
        true = often * then + (1 - often) * rest
        yield name, true, False, draw
        yield f"{name}; whole seeds", true, True, partial(whole_seeds, draw)


def is_wrong(said: str, true: float) -> bool:
    """Whether a word is not that of the true share."""
    return said not in (OPEN, word(true, true, 0.9))


def rows(boards: int, truths: int) -> Iterator[dict[str, str]]:
    """A row a law and a number of seeds and tasks."""
    for law, true, clustered, draw in laws():
        for shape in DESIGNS if not clustered else [of for of in DESIGNS if of[1] > 1]:
            generator, found = np.random.default_rng([*map(ord, law), *shape]), Counter[str]()
            for _ in range(boards):
                covered = draw(generator, shape, truths)
                share = estimate("mean", covered, [SHARE] * shape[1], clustered=clustered)
                assert share.low is not None
                assert share.high is not None
                found[word(share.low, share.high, 0.9)] += 1
            wrong = sum(n for said, n in found.items() if is_wrong(said, true))
            yield (
                {"law": law, "true": f"{100 * true:.1f}"}
                | {"seeds": str(shape[0]), "tasks": str(shape[1])}
                | {said: f"{100 * found[said] / boards:.1f}" for said in (CALIBRATED, NARROW, WIDE)}
                | {"wrong": f"{100 * wrong / boards:.1f}"}
            )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=500)
    parser.add_argument("--truths", type=int, default=128)
    asked, began, made = parser.parse_args(), time.process_time(), list[dict[str, str]]()
    for row in rows(asked.boards, asked.truths):
        made.append(row)
        print(f"{time.process_time() - began:6.0f} s", *row.values(), flush=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)


if __name__ == "__main__":
    main()
