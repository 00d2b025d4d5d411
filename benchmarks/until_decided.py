"""What ``uqbench run --until-decided`` decides wrongly, and how many runs it takes.

    python -m pip install adastop==0.1.3     # otherwise its rows are left out
    python benchmarks/until_decided.py [--simulations 2000] [--adastop 100]

Simulated methods whose scores are normal with spread 1. A verdict is wrong where two methods are
told apart that do not differ, or in the wrong order; each number is of whole experiments, with any
wrong verdict counting. Compared: all pairs at a fixed number of seeds (Holm); the looks of
``--until-decided``; and AdaStop (Mathieu et al. 2023) with groups of five runs. The same for one
claim of the kind ``order``. Prints the tables of docs/claims.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from uqbench.claims.sequential import interim_schedule
from uqbench.statistics.concordance import concordance
from uqbench.statistics.interim_analyses import level, level_of_claim
from uqbench.statistics.levels import ALPHA
from uqbench.statistics.quantiles import t_tail

MOST = 40
PERMUTATIONS = 1_000
SCENES = {
    "two equal methods": (0.0, 0.0),
    "two, one spread apart": (0.0, 1.0),
    "two, two spreads apart": (0.0, 2.0),
    "four equal methods": (0.0, 0.0, 0.0, 0.0),
    "four at 0, 0, 1, 2": (0.0, 0.0, 1.0, 2.0),
}

Outcome = tuple[bool, float, float]
"""Whether a verdict was wrong, share of the true differences found, runs a method."""
Matrix = NDArray[np.float64]


def outcome(means: tuple[float, ...], found: dict[tuple[int, int], int], runs: float) -> Outcome:
    """From the verdicts, the sign of each pair's difference where it was decided."""
    pairs = [(i, j) for i in range(len(means)) for j in range(i + 1, len(means))]
    true = {pair: int(np.sign(means[pair[0]] - means[pair[1]])) for pair in pairs}
    wrong = any(sign != true[pair] for pair, sign in found.items())
    different = [pair for pair in pairs if true[pair]]
    power = np.mean([pair in found for pair in different]) if different else np.nan
    return wrong, float(power), runs


def by_looks(means: tuple[float, ...], scores: Matrix, schedule: tuple[int, ...]) -> Outcome:
    """The looks of ``--until-decided``; a fixed design is one look.

    What ``scoring.sequential`` decides with Welch's tests: a pair's p-value of all looks, adjusted
    by Holm's procedure for the pairs that are open, against 5 %.
    """
    open_pairs = list(combinations(range(len(means)), 2))
    runs = dict.fromkeys(range(len(means)), 0)
    found = {}
    for seeds in schedule:
        runs |= {i: seeds for pair in open_pairs for i in pair}
        given = scores[:, :seeds]
        mean, variance = given.mean(axis=1), given.var(axis=1, ddof=1) / seeds
        p = {}
        for i, j in open_pairs:
            of = variance[i], variance[j]
            degrees = sum(of) ** 2 * (seeds - 1) / (of[0] ** 2 + of[1] ** 2)
            p[i, j] = 2 * t_tail(abs(mean[i] - mean[j]) / math.sqrt(sum(of)), degrees)
        for left, (i, j) in zip(range(len(p), 0, -1), sorted(p, key=p.__getitem__), strict=True):
            if p[i, j] > level(ALPHA / left, schedule):
                break
            found[i, j] = int(np.sign(mean[i] - mean[j]))
        open_pairs = [pair for pair in open_pairs if pair not in found]
        if not open_pairs:
            break
    return outcome(means, found, float(np.mean(list(runs.values()))))


def by_adastop(means: tuple[float, ...], scores: Matrix) -> Outcome:
    """AdaStop, in groups of five runs."""
    from adastop import MultipleAgentsComparator

    comparator = MultipleAgentsComparator(
        n=5, K=MOST // 5, B=PERMUTATIONS, alpha=ALPHA, seed=int(scores[0, 0] * 1e6) % 2**31
    )
    names = [f"m{i}" for i in range(len(means))]
    values = {name: np.empty(0) for name in names}
    for k in range(MOST // 5):
        for i, name in enumerate(names):
            if k == 0 or i in np.ravel(comparator.current_comparisons):
                values[name] = scores[i, : 5 * k + 5]
        comparator.partial_compare(values, verbose=False)
        if comparator.is_finished:
            break
    words = {"larger": 1, "smaller": -1}
    found = {}
    for name, word in comparator.decisions.items():
        i, j = (int(part) for part in str(name).strip("()[]").replace(",", " ").split())
        if word in words:
            found[i, j] = words[word]
    return outcome(means, found, float(np.mean([len(v) for v in values.values()])))


def claim(means: tuple[float, ...], scores: Matrix, schedule: tuple[int, ...]) -> Outcome:
    """One claim, that the first of two methods is better, by probability of improvement."""
    for seeds in schedule:
        measured = concordance([[scores[1, :seeds], scores[0, :seeds]]])
        low, high = measured.interval(level_of_claim(schedule, 1))
        if low > 0.5 or high < 0.5:
            return outcome(means, {(0, 1): 1 if low > 0.5 else -1}, seeds)
    return outcome(means, {}, schedule[-1])


def report(
    title: str, simulate: Callable[[Matrix], Outcome], means: tuple[float, ...], n: int
) -> None:
    """A row of the table."""
    generator = np.random.default_rng(1)
    found = [
        simulate(np.array(means)[:, None] + generator.normal(size=(len(means), MOST)))
        for _ in range(n)
    ]
    wrong = 100 * np.mean([one[0] for one in found])
    power = 100 * np.nanmean([one[1] for one in found]) if len(set(means)) > 1 else np.nan
    runs = np.mean([one[2] for one in found])
    shown = "" if np.isnan(power) else f"{power:.0f} %"
    print(f"| {title} | {wrong:.1f} % | {shown} | {runs:.1f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--adastop", type=int, default=100, help="simulations of AdaStop")
    parser.add_argument("--scenes", default="", help="only those whose names begin so")
    chosen = parser.parse_args()
    print("| | wrong | differences found | seeds a method |\n| --- | --- | --- | --- |")
    fixed, schedule = (MOST,), interim_schedule(MOST)
    for name, means in SCENES.items():
        if not name.startswith(chosen.scenes):
            continue
        for title, design in (("fixed", fixed), ("`--until-decided`", schedule)):
            simulate = partial(by_looks, means, schedule=design)
            report(f"ranks, {name}: {title}", simulate, means, chosen.simulations)
        if find_spec("adastop"):
            report(f"ranks, {name}: AdaStop", partial(by_adastop, means), means, chosen.adastop)
        if len(means) == 2:
            for title, design in (("fixed", fixed), ("`--until-decided`", schedule)):
                simulate = partial(claim, means, schedule=design)
                report(f"`order`, {name}: {title}", simulate, means, chosen.simulations)


if __name__ == "__main__":
    main()
