"""Familywise error and power of ways to compare all pairs of a board's methods, by simulation.

``python benchmarks/pair_intervals.py`` writes ``pair_intervals.csv`` beside this file: for each law
of runs, number of seeds and of tasks, the percentage of boards of eight equal methods with some
pair apart, and the percentage of pairs apart where one method is a standard deviation better.

Each way is a p-value of a pair and a level at which all pairs together are to hold with 95 %:
Student's (Welch's) p-value, alone or not below Hall's (1992), at .05/pairs (Bonferroni), at the
studentized range (Tukey; Games & Howell 1976), or at the level that the least p-value of drawn
normal runs has in 5 %. ``IQM`` is of interquartile means, all else of means. ``before`` is what
uqbench did before: max-T with a floor of variances and Welch's .05; flipped signs of seeds'
differences where paired.
"""

import argparse
import csv
import time
from functools import lru_cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
from scipy import special, stats

METHODS, PAIRS = 8, 28
FIRST, SECOND = np.array(list(combinations(range(METHODS), 2))).T
DRAWS = 299
IQM = "IQM: Hall, .05/pairs"
SEEDS, TASKS = (3, 5, 10, 30), (1, 5, 20)


def normal(g, shape):
    return g.standard_normal(shape)


def skewed(g, shape):
    """Log-normal, of skewness 3.6, like costs: the worst 5 % of runs make 63 % of the variance."""
    return -(np.exp(0.8 * g.standard_normal(shape)) - np.exp(0.32)) / 1.3


def learns_or_not(g, shape):
    return ((g.random(shape) < 0.6) - 0.6 + 0.05 * g.standard_normal(shape)) * 2


def discrete(g, shape):
    return (g.binomial(4, 0.5, shape) - 2.0) / 1.0


def ties(g, shape):
    """Seven runs of ten are the same."""
    return ((g.random(shape) < 0.3) - 0.3) * 2.2


def all_fail(g, shape):
    """One run in ten falls by ten standard deviations of the others."""
    return 3.2 * (0.1 * g.standard_normal(shape) - (g.random(shape) < 0.1) + 0.1)


def one_fails(g, shape):
    values = 0.32 * g.standard_normal(shape)
    values[:, 0] += 3.2 * (0.1 - (g.random(values[:, 0].shape) < 0.1))
    return values


LAWS = {
    "normal": (normal, 1.0), "skewed": (skewed, 0.05), "discrete": (discrete, 1.0),
    "bimodal, 6 of 10 learn": (learns_or_not, 0.4), "ties, 7 of 10 equal": (ties, 0.3),
    "all methods fail 1 in 10": (all_fail, 0.1), "one method fails 1 in 10": (one_fails, 0.1),
}  # fmt: skip
"""By name: what draws ``[boards, methods, seeds, tasks]``, and the share of the rarer runs.

A law is *shown* where n runs miss these in less than 1 % (the column ``unseen``).
"""


class Statistics:
    """Differences of all pairs, ``[boards, pairs]``: t, degrees of freedom and skewness."""

    def __init__(self, d, v, f, third):
        some = v > 1e-20  # else all runs are equal but for rounding
        self.t = d / np.sqrt(np.where(some, v, np.inf))
        self.f = np.where(some, f, 1.0)
        self.a = third / np.where(some, v, np.inf) ** 1.5

    def student(self):
        return 2 * special.stdtr(self.f, -np.abs(self.t))

    def hall(self):
        """Not below Student's: g(t) = t + a t²/3 + a² t³/27 + a/6 has Student's distribution."""
        t, a = self.t, self.a
        g = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        least = np.maximum(0.0, np.minimum(np.abs(t), np.sign(t) * g))
        return 2 * special.stdtr(self.f, -least)


def moments(x, axis):
    n = x.shape[axis]
    e = x - x.mean(axis=axis, keepdims=True)
    third = (e**3).sum(axis=axis) / max((n - 1) * (n - 2), 1) / n
    return x.mean(axis=axis), (e**2).sum(axis=axis) / (n - 1) / n, third


def independent(x, center=None, kept=1.0):
    """Of means, or of statistics whose values are given, and of what share of runs they keep."""
    n, tasks = x.shape[2:]
    mean, v, third = moments(x, 2)
    mean, v, third = mean.mean(-1), v / tasks**2, third.sum(-1) / tasks**3
    mean = mean if center is None else center
    total, squares = v.sum(-1), (v**2).sum(-1) / (n - 1) / kept
    both, f = total[:, FIRST] + total[:, SECOND], squares[:, FIRST] + squares[:, SECOND]
    f = both**2 / np.where(f > 0, f, 1.0)
    return Statistics(
        mean[:, FIRST] - mean[:, SECOND], both, f, third[:, FIRST] - third[:, SECOND]
    ), v


def iqm(x):
    """Of interquartile means, by the runs cut off at the quartiles, twice."""
    runs = np.sort(x.reshape(*x.shape[:2], -1), axis=2)
    size, cut = runs.shape[2], runs.shape[2] // 4
    low, high = (runs[:, :, k, None, None] for k in (cut, size - 1 - cut))
    center = runs[:, :, cut : size - cut].mean(2)
    return independent(2 * np.clip(x, low, high), center, 1 - 2 * cut / size)[0]


def seedwise(x):
    d = x.mean(-1)[:, FIRST] - x.mean(-1)[:, SECOND]
    mean, v, third = moments(d, 2)
    return Statistics(mean, v, np.full(v.shape, x.shape[2] - 1.0), third), d


def deviate(t, f):
    """The normal deviates that are about as rare as Student's t (Wallace 1959)."""
    return (8 * f + 1) / (8 * f + 3) * np.sqrt(f * np.log1p(t**2 / f))


def of_pairs(mean, v, n):
    """Deviates of pairs of independent means, ``[…, methods]``, of variances by task."""
    total, squares = v.sum(-1), (v**2).sum(-1) / (n - 1)
    both, f = total[..., FIRST] + total[..., SECOND], squares[..., FIRST] + squares[..., SECOND]
    some = both > 0
    f = np.where(some, both, 1.0) ** 2 / np.where(some, f, 1.0)
    return deviate(
        (mean[..., FIRST] - mean[..., SECOND]) / np.sqrt(np.where(some, both, np.inf)), f
    )


def drawn_level(x, paired, g):
    """By board: the least Student p-value of normal runs with its (co)variances, in 5 %."""
    boards, _, n, tasks = x.shape
    greatest = np.empty(boards)
    if paired:
        e = x.mean(-1) - x.mean(-1).mean(2, keepdims=True)
        z = g.standard_normal((DRAWS, n, n)) / np.sqrt(n - 1)
        for k in range(boards):
            runs = z @ e[k].T
            mean, centered = runs.mean(1), runs - runs.mean(1, keepdims=True)
            cov = np.swapaxes(centered, 1, 2) @ centered / (n - 1) / n
            own = np.diagonal(cov, axis1=1, axis2=2)
            v = own[:, FIRST] + own[:, SECOND] - 2 * cov[:, FIRST, SECOND]
            t = (mean[:, FIRST] - mean[:, SECOND]) / np.sqrt(np.where(v > 1e-12, v, np.inf))
            greatest[k] = np.quantile(deviate(t, n - 1.0).max(1), 0.95)
    else:
        _, v = independent(x)
        z, chi = unit_draws(n, tasks, g)
        for k, of in enumerate(v):
            deviates = of_pairs(z * np.sqrt(of.sum(-1)), of * chi, n)
            greatest[k] = np.quantile(deviates.max(1), 0.95)
    return 2 * special.ndtr(-greatest)


def unit_draws(n, tasks, g):
    chi = g.chisquare(n - 1, (DRAWS, METHODS, tasks)) / (n - 1)
    return g.standard_normal((DRAWS, METHODS)), chi


def before_independent(x, g):
    """Pairs apart by the former procedure's first step: floor of variances, Wallace's deviates."""
    n, tasks = x.shape[2:]
    own, v = independent(x)
    z, chi = unit_draws(n, tasks, g)

    def deviates(mean, v):
        return of_pairs(mean, np.maximum(v, v.mean(-2, keepdims=True)), n)

    observed = deviates(x.mean((2, 3)), v)
    crit = [
        np.quantile(deviates(z * np.sqrt(of.sum(-1)), of * chi).max(1), 0.95, method="higher")
        for of in v
    ]
    return (observed >= np.array(crit)[:, None]) & (own.student() <= 0.05)


def before_paired(x, g):
    """Pairs apart by flipped signs of whole seeds, the greatest t of all pairs."""
    _, d = seedwise(x)
    n = d.shape[2]
    unit = d / np.sqrt((d**2).sum(2, keepdims=True)).clip(1e-300)
    signs = (
        (np.arange(2**n)[:, None] >> np.arange(n) & 1) * 2.0 - 1
        if n <= 8
        else g.integers(2, size=(DRAWS, n)) * 2.0 - 1
    )
    found = []
    for of in unit:
        greatest = np.abs(signs @ of.T).max(1)
        beyond = (greatest[:, None] >= np.abs(of.sum(1)) * (1 - 1e-9)).sum(0)
        drawn = n > 8
        found.append((beyond + drawn) / (len(signs) + drawn) <= 0.05)
    return np.array(found)


def wilcoxon(x):
    """Exact signed-rank p-values of pairs (ties in midranks: approximately)."""
    _, d = seedwise(x)
    n = d.shape[2]
    ranks = stats.rankdata(np.abs(d), axis=2)
    positive = (ranks * (d > 0) + ranks * (d == 0) / 2).sum(2)
    counts = np.ones(1)
    for k in range(1, n + 1):
        counts = np.convolve(counts, np.bincount([0, k]))
    below = np.cumsum(counts) / counts.sum()
    least = np.floor(np.minimum(positive, n * (n + 1) / 2 - positive)).astype(int)
    return np.minimum(1.0, 2 * below[least])


def games_howell(f):
    """The two-sided level of Student's t at which the studentized range of 8 is 5 %, by degrees."""
    grid, levels = range_levels()
    return np.exp(np.interp(np.log(f), np.log(grid), np.log(levels)))


@lru_cache
def range_levels():
    grid = np.geomspace(2, 2_000, 40)
    t = stats.studentized_range.isf(0.05, METHODS, grid) / np.sqrt(2)
    return grid, 2 * special.stdtr(grid, -t)


def of_iqm(x):
    """Pairs whose interquartile means are apart."""
    return {IQM: iqm(x).hall() <= 0.05 / PAIRS}


def ways(x, g):
    """By way, the pairs that are apart, ``[boards, pairs]``."""
    own, _ = independent(x)
    student, hall, level = own.student(), own.hall(), drawn_level(x, False, g)[:, None]
    range_level = games_howell(own.f.clip(2, 2_000))
    found = {
        "before": before_independent(x, g),
        "Student, .05/pairs": student <= 0.05 / PAIRS, "Hall, .05/pairs": hall <= 0.05 / PAIRS,
        "Student, Games-Howell": student <= range_level, "Hall, Games-Howell": hall <= range_level,
        "Student, drawn": student <= level, "Hall, drawn": hall <= level,
    }  # fmt: skip
    own, _ = seedwise(x)
    student, hall, level = own.student(), own.hall(), drawn_level(x, True, g)[:, None]
    return found | {
        "paired: before": before_paired(x, g),
        "paired: Student, .05/pairs": student <= 0.05 / PAIRS,
        "paired: Hall, .05/pairs": hall <= 0.05 / PAIRS,
        "paired: Student, drawn": student <= level, "paired: Hall, drawn": hall <= level,
        "paired: Wilcoxon, .05/pairs": wilcoxon(x) <= 0.05 / PAIRS,
    } | of_iqm(x)  # fmt: skip


def rows(boards, ways=ways, seed=0):
    for (law, (draw, rare)), spread in product(LAWS.items(), ("equal", "× 3")):
        for n, tasks in ((n, t) for n in SEEDS for t in TASKS):
            if spread == "× 3" and law not in ("normal", "skewed", "discrete"):
                continue
            g = np.random.default_rng([seed, n, tasks, *map(ord, law + spread)])
            x = draw(g, (boards, METHODS, n, tasks))
            x[:, 1::2] *= 3.0 if spread == "× 3" else 1.0
            cell = {"law": law, "spreads": spread, "seeds": n, "tasks": tasks,
                    "unseen": f"{100 * (1 - rare) ** n:.2g}" if rare < 1 else "0"}  # fmt: skip
            error = {k: f"{100 * of.any(1).mean():.1f}" for k, of in ways(x, g).items()}
            if law == "one method fails 1 in 10" or (law, spread) == ("skewed", "× 3"):
                error[IQM] = ""  # their interquartile means are not equal
            yield cell | {"what": "error"} | error
            if tasks < 20 and law in ("normal", "skewed", "all methods fail 1 in 10"):
                x[:, 0] += 1.0
                yield (
                    cell
                    | {"what": "power"}
                    | {k: f"{100 * of[:, FIRST == 0].mean():.1f}" for k, of in ways(x, g).items()}
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=500)
    parser.add_argument("--iqm", action="store_true", help="this column alone, beside the others")
    arguments, began, made = parser.parse_args(), time.process_time(), []
    table = Path(__file__).with_suffix(".csv")
    for row in rows(arguments.boards, (lambda x, _: of_iqm(x)) if arguments.iqm else ways):
        made.append(row)
        print(f"{time.process_time() - began:6.0f} s", *row.values(), flush=True)
    if arguments.iqm:
        with table.open(newline="") as file:
            made = [of | row for of, row in zip(csv.DictReader(file), made, strict=True)]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
