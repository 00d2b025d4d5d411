"""Which words stated 90 % intervals get, by their width: the table of docs/uncertainty.md.

    python benchmarks/words.py [--boards 400] [--truths 128]

Errors of a run are normal and correlated by rho; intervals are exact, twice too wide or twice too
narrow. Printed is how many boards in a hundred say calibrated, too narrow, too wide; the rest
is open.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from uqbench.boards.calibration import CALIBRATED, NARROW, WIDE, word
from uqbench.statistics.bounded import SHARE
from uqbench.statistics.estimate import estimate

DESIGNS = ((3, 1), (6, 5), (10, 2), (20, 1), (10, 5), (20, 5), (40, 2), (100, 5))
WIDTHS = {"exact": 1.0, "twice too wide": 2.0, "twice too narrow": 0.5}
RHOS = (0.0, 0.5, 0.9)
REACH = 1.6448536
"""Half-width of a 90 % interval, in standard deviations."""


def coverages(
    generator: np.random.Generator, shape: tuple[int, int], truths: int, rho: float, width: float
) -> NDArray[np.float64]:
    """Shares of truths inside intervals of so many times the right width, ``[seeds, tasks]``."""
    shared, own = (generator.standard_normal((*shape, n)) for n in (1, truths))
    errors = math.sqrt(rho) * shared + math.sqrt(1 - rho) * own
    return np.asarray((np.abs(errors) < REACH * width).mean(axis=-1))


def said(boards: int, shape: tuple[int, int], truths: int, rho: float, width: float) -> str:
    """``calibrated/too narrow/too wide`` in percent."""
    generator, found = np.random.default_rng(0), Counter[str]()
    for _ in range(boards):
        covered = coverages(generator, shape, truths, rho, width)
        share = estimate("mean", covered, [SHARE] * shape[1])
        assert share.low is not None
        assert share.high is not None
        found[word(share.low, share.high, 0.9)] += 1
    return "/".join(f"{100 * found[of] / boards:.0f}" for of in (CALIBRATED, NARROW, WIDE))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=400)
    parser.add_argument("--truths", type=int, default=128)
    asked = parser.parse_args()
    names = [f"{name}, rho {rho}" for name in WIDTHS for rho in RHOS]
    print("| seeds x tasks |", " | ".join(names), "|")
    print("| --- |" + " --- |" * len(names))
    for shape in DESIGNS:
        cells = [
            said(asked.boards, shape, asked.truths, rho, width)
            for width in WIDTHS.values()
            for rho in RHOS
        ]
        print(f"| {shape[0]} x {shape[1]} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
