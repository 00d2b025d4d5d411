"""Which difference so many seeds tell apart, by the number of methods.

    python benchmarks/power.py [--runs 800]

Half of the methods are better than the others by the difference, on every task. Scores are normal,
with a standard deviation of 1 on each task and for each method. Printed is the least difference of
which four in five pairs are told apart (the share of true pairs with an adjusted p-value of at most
5 %), by the functions that boards call, found by bisection on the same runs. One simulated board
more or less moves it by less than a tenth.
"""

from __future__ import annotations

import argparse

import numpy as np

from uqbench.statistics import ranks
from uqbench.statistics.levels import ALPHA, POWER

SEEDS = (3, 5, 10, 20, 40)
METHODS = (2, 4, 10)
TASKS = (1, 5)
WIDEST = 12.0
STEP = 0.05


def power(noise: ranks.Matrix, difference: float) -> float:
    """The share of true pairs that are told apart, of noise ``[boards, methods, seeds, tasks]``."""
    methods = noise.shape[1]
    better = methods // 2
    shifts = np.where(np.arange(methods) < better, difference, 0.0)[:, None, None]
    found = [
        pair.adjusted is not None and pair.adjusted <= ALPHA
        for board in noise
        for pair in ranks.compare(
            {f"{i:02}": scores for i, scores in enumerate(board + shifts)}, "mean", paired=""
        )
        if (int(pair.first) < better) != (int(pair.second) < better)
    ]
    return float(np.mean(found))


def least(simulated: int, methods: int, seeds: int, tasks: int) -> float | None:
    """The least difference that is found with 80 % probability; None beyond ``WIDEST``."""
    boards = simulated // methods
    noise = np.random.default_rng(1).normal(size=(boards, methods, seeds, tasks))
    low, high = 0.0, WIDEST
    if power(noise, high) < POWER:
        return None
    while high - low > STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if power(noise, middle) >= POWER else (middle, high)
    return high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=800, help="of a seed and task, all boards'")
    simulated = parser.parse_args().runs
    print("| tasks | methods | " + " | ".join(f"{seeds} seeds" for seeds in SEEDS) + " |")
    print("| --- " * (2 + len(SEEDS)) + "|")
    for tasks in TASKS:
        for methods in METHODS:
            found = [least(simulated, methods, seeds, tasks) for seeds in SEEDS]
            shown = [f"> {WIDEST:g}" if one is None else f"{one:.1f}" for one in found]
            print(f"| {tasks} | {methods} | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
