"""What ``uqbench run --until-decided`` decides wrongly, and how many runs it takes.

    python -m pip install adastop==0.1.3     # otherwise its rows are left out
    python benchmarks/until_decided.py [--simulations 500] [--adastop 100]

Simulated methods whose scores are normal with a standard deviation of 1, and others that normal
theory is not right for. A verdict is wrong where two methods that do not differ are said to, or
in the wrong order; each number is of whole experiments, with any wrong verdict counting. Compared:
all pairs at a fixed number of seeds; the analyses of ``--until-decided``; and AdaStop (Mathieu et
al. 2023) with groups of five runs. The same for one claim of the kind ``order``. Prints the tables
of docs/claims.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from uqbench.boards.claims.sequential import Sequential, interim_schedule
from uqbench.contract.claim import Interval
from uqbench.statistics import ranks
from uqbench.statistics.concordance import concordance
from uqbench.statistics.interim_analyses import level_of_claim
from uqbench.statistics.levels import ALPHA

MOST = 40
RANK_DRAWS = 999
"""Instead of 9,999: enough to know whether a p-value is below the level of an analysis."""
PERMUTATIONS = 1_000
COINS = (-0.5, 1.5)
SCENES = {
    "two equal methods": (0.0, 0.0),
    "two, one standard deviation apart": (0.0, 1.0),
    "two, two standard deviations apart": (0.0, 2.0),
    "four equal methods": (0.0, 0.0, 0.0, 0.0),
    "four at 0, 0, 1, 2": (0.0, 0.0, 1.0, 2.0),
}
UNEQUAL = {
    "log-normal, equal means, one × 3": lambda g: np.stack(
        [f * (g.lognormal(size=MOST) - np.exp(0.5)) for f in (1, 3)]
    ),
    "one fails one time in five, equal means": lambda g: np.stack(
        [0.8 + 0.1 * g.normal(size=MOST), (g.random(MOST) > 0.2) + 0.1 * g.normal(size=MOST)]
    ).clip(COINS[0], COINS[1]),
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


def by_analyses(
    means: tuple[float, ...],
    scores: Matrix,
    schedule: tuple[int, ...],
    ranges: list[Interval] | None = None,
) -> Outcome:
    """The analyses of ``--until-decided``; a fixed design is one analysis."""
    found, number = Sequential(schedule), {f"m{i}": i for i in range(len(means))}
    runs, open_names = dict.fromkeys(number, 0), list(number)
    for seeds in schedule:
        runs |= dict.fromkeys(open_names, seeds)
        given = {name: scores[number[name], :seeds, None] for name in open_names}
        found.compare(given, "mean", paired=False, ranges=ranges)
        left = {name for pair in found.pairs if pair not in found.decided_at for name in pair}
        open_names = [name for name in number if name in left]
        if not open_names:
            break
    signs = {
        (number[a], number[b]): int(np.sign(found.pairs[a, b].difference.value))
        for a, b in found.pairs
        if (a, b) in found.decided_at
    }
    return outcome(means, signs, float(np.mean(list(runs.values()))))


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
    title: str,
    simulate: Callable[[Matrix], Outcome],
    draw: Callable[[np.random.Generator], Matrix],
    n: int,
) -> None:
    """A row of the table."""
    generator = np.random.default_rng(1)
    found = [simulate(draw(generator)) for _ in range(n)]
    wrong = 100 * np.mean([one[0] for one in found])
    powers = [one[1] for one in found if not np.isnan(one[1])]
    runs = np.mean([one[2] for one in found])
    shown = f"{100 * np.mean(powers):.0f} %" if powers else ""
    print(f"| {title} | {wrong:.1f} % | {shown} | {runs:.1f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--adastop", type=int, default=100, help="simulations of AdaStop")
    parser.add_argument("--scenes", default="", help="only those whose names begin so")
    chosen = parser.parse_args()
    setattr(ranks, "DRAWS", RANK_DRAWS)  # noqa: B010
    print("| | wrong | differences found | seeds a method |\n| --- | --- | --- | --- |")
    designs = (("fixed", (MOST,)), ("`--until-decided`", interim_schedule(MOST)))
    for name, means in SCENES.items():
        if not name.startswith(chosen.scenes):
            continue

        def draw(generator: np.random.Generator, means: tuple[float, ...] = means) -> Matrix:
            noise: Matrix = generator.normal(size=(len(means), MOST))
            return np.array(means)[:, None] + noise

        for title, design in designs:
            simulate = partial(by_analyses, means, schedule=design)
            report(f"ranks, {name}: {title}", simulate, draw, chosen.simulations)
        if find_spec("adastop"):
            report(f"ranks, {name}: AdaStop", partial(by_adastop, means), draw, chosen.adastop)
        if len(means) == 2:
            for title, design in designs:
                simulate = partial(claim, means, schedule=design)
                report(f"`order`, {name}: {title}", simulate, draw, chosen.simulations)
    for name, draw_unequal in UNEQUAL.items():
        if not name.startswith(chosen.scenes):
            continue
        for title, design in designs:
            simulate = partial(by_analyses, (0.0, 0.0), schedule=design)
            report(f"ranks, {name}: {title}", simulate, draw_unequal, chosen.simulations)
            if "fails" in name:
                simulate = partial(simulate, ranges=[COINS])
                report(f"… stated to fail: {title}", simulate, draw_unequal, chosen.simulations)


if __name__ == "__main__":
    main()
