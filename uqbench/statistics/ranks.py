"""Ranks as sets: what the differences of all pairs of methods say, together at 95 %.

A method's best possible rank is 1 + the number of methods that are significantly better, its worst
the number of methods that it is not significantly better than. Two methods differ where their
studentized difference is beyond what all pairs' greatest one comes to by chance (max-T; Westfall &
Young 1993), step by step for the pairs that are left (Romano & Wolf 2005): with probability 95 %
all methods' true places lie in their sets at once (Mogstad, Romano, Shaikh & Wilhelm 2024,
Inference for ranks).

What comes by chance is drawn. Where the methods met the same seeds' worlds, the signs of whole
seeds' differences are flipped, those of all pairs at once: exact for differences that are symmetric
about zero. Of independent runs the means and variances of every method and task are drawn anew, as
normal theory has them for so many runs: permutations of runs are exact only where all methods have
the same distribution, and erred in more than one board of ten where one method's runs vary more
(``docs/coverage.md``). A few runs that happen to lie close together would make a method surely
better or worse: on each task no method's variance counts as less than the mean one of the suite's
own methods, in what is observed and in what is drawn alike (Tusher, Tibshirani & Chu 2001 add such
a constant), and no pair differs of which Welch's test by itself does not say so. Statistics of
unlike degrees of freedom are compared as the normal deviates that are as rare (Wallace 1959). Means
of runs that may fail are compared by their intervals instead (:mod:`uqbench.statistics.bounded`),
adjusted by Holm's procedure (1979).

Within a ``margin`` that matters two methods are *equivalent*: the interval of their difference at
1 − 2 · 0.05/pairs lies inside it (two one-sided tests, Schuirmann 1987). Of the two statements on
a pair, no difference and a difference of the margin, one at most is true, so that there are no more
errors to make than pairs.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from uqbench.contract.seeding import derive_seed
from uqbench.statistics.bounded import Apart, Ranges, difference
from uqbench.statistics.estimate import Estimate, improvement
from uqbench.statistics.levels import ALPHA, DRAWS, MINIMUM_SEEDS
from uqbench.statistics.location import Difference, Value, by_seed, location, paired_difference
from uqbench.statistics.statistic import point

Matrix = NDArray[np.float64]
Measured = Difference | Value | Apart

ALL_UP_TO = 13
"""Seeds whose signs are all taken: 2¹³ = 8,192."""


@dataclass(frozen=True)
class Pair:
    """Two methods of a board, compared.

    Attributes:
        improvement: probability that a run of the first beats one of the second.
        difference: of the ranking statistic of the scores; seed by seed in a paired suite.
        p: of the difference, two-sided; None with fewer than three seeds.
        adjusted: for all pairs of ranked methods of the board.
        equivalent: whether the difference lies within the suite's margin; None without one.
    """

    first: str
    second: str
    improvement: Estimate
    difference: Estimate
    p: float | None
    adjusted: float | None = None
    equivalent: bool | None = None


@dataclass(frozen=True)
class Place:
    """A method's place by the point estimates, and the places that the runs leave it.

    Attributes:
        tied: whether it is equivalent to every method from which it does not differ significantly.
    """

    rank: int
    low: int
    high: int
    tied: bool = False

    def __str__(self) -> str:
        places = str(self.low) if self.low == self.high else f"{self.low}–{self.high}"
        return f"{places} =" if self.tied else places


def compare(
    scores: Mapping[str, Matrix],
    statistic: str,
    *,
    paired: bool,
    unranked: Container[str] = (),
    foreign: Container[str] = (),
    ranges: Ranges | None = None,
    margin: float | None = None,
) -> tuple[Pair, ...]:
    """All pairs of methods, by their ``[runs, tasks]`` scores.

    Args:
        scores: by method, with the same tasks, and the same seeds in the same order.
        statistic: that ranks.
        paired: whether seeds with all their tasks are the unit, and are compared one by one.
        unranked: rows that take no part in the ranking: pairs with one of them have no adjusted
            p-value, and do not raise those of the others.
        foreign: rows that are not the suite's own. They take the floor of variances and do not
            make it, and their pairs do not raise the p-values of the suite's own: else one noisy
            row would leave no other pair apart. The sets of the suite's rows hold together with
            95 % then, and those of all rows together with 90 %.
        ranges: of the metric on each task, where its runs may fail.
        margin: differences below it do not matter.
    """
    seeds = min(map(len, scores.values()), default=0)
    few = seeds < MINIMUM_SEEDS
    seedwise = paired and len(set(map(len, scores.values()))) == 1
    measured = measure(scores, statistic, ranges, seedwise=seedwise)
    family = {
        names: of
        for names, of in measured.items()
        if not few and not any(name in unranked for name in names)
    }
    adjusted = adjusted_p(family, scores, statistic, foreign)
    compared = []
    for (first, second), of in measured.items():
        equivalent = None
        if margin is not None and (first, second) in adjusted:
            interval = of.interval(2 * ALPHA / len(family))
            equivalent = interval is not None and max(map(abs, interval)) < margin
        compared.append(
            Pair(
                first,
                second,
                improvement(scores[first], scores[second]),
                Estimate.of(of, seeds),
                None if few else of.p_value(),
                adjusted.get((first, second)),
                equivalent,
            )
        )
    return tuple(compared)


def places(scores: Mapping[str, Matrix], pairs: Sequence[Pair], statistic: str) -> dict[str, Place]:
    """Each method's place by the ranking statistic (more is better) and its rank set.

    A single method has none.

    Args:
        scores: of the methods that are ranked.
        pairs: those with another method do not count.
        statistic: that ranks.
    """
    values = {name: point(statistic, matrix) for name, matrix in scores.items()}
    ordered = sorted(values, key=lambda name: (-values[name], name))
    places = {
        name: Place(rank, 1, len(ordered), tied=True)
        for rank, name in enumerate(ordered, start=1)
        if len(ordered) > 1
    }
    for pair in pairs:
        if not {pair.first, pair.second} <= values.keys():
            continue
        better, worse = sorted((pair.first, pair.second), key=ordered.index)
        if pair.adjusted is not None and pair.adjusted <= ALPHA:
            places[worse] = replace(places[worse], low=places[worse].low + 1)
            places[better] = replace(places[better], high=places[better].high - 1)
        elif not pair.equivalent:
            for name in (better, worse):
                places[name] = replace(places[name], tied=False)
    return {
        name: replace(place, tied=place.tied and place.low < place.high)
        for name, place in places.items()
    }


def check_ranking(seeds: int, methods: int, *, paired: bool, ranges: Ranges | None) -> None:
    """Raise ``ValueError`` where no runs could tell any two of so many methods apart."""
    if methods < 2:
        return
    if paired and ranges is not None and not all(ranges):
        raise ValueError(
            "may_fail names some of the tasks, and the suite is paired: expected all tasks, as a "
            "seed with all its tasks is one run; use fails_beyond with lowest and highest"
        )
    if seeds < MINIMUM_SEEDS:
        least = 1.0
    elif ranges is not None and all(ranges):
        ends = [of for of in ranges if of is not None]
        worst, best = (np.array([one] * seeds) for one in zip(*ends, strict=True))
        apart = difference(best, worst, ranges, seedwise=paired)
        least = apart.p_value() * methods * (methods - 1) / 2
    else:
        least = max(2.0 ** (1 - seeds), 2.0 / (DRAWS + 1)) if paired else 0.0
    if least > ALPHA:
        raise ValueError(
            f"{seeds} seeds can never tell any two of {methods} methods apart: the least adjusted "
            f"p-value is {min(1.0, least):.2g}; give the budget more seeds, or say ranks = false"
        )


def step_down(observed: Matrix, chance: Matrix, drawn: int) -> Matrix:
    """Adjusted p-values of statistics, ``[pairs]``, by what they come to by chance.

    ``chance`` is ``[draws, pairs]``; ``drawn`` is 1 where they are a sample, to which the runs as
    they are are added (Phipson & Smyth 2010), and 0 where they are all there are.
    """
    order = np.argsort(observed)
    greatest = np.maximum.accumulate(chance[:, order], axis=1)
    beyond = (greatest >= observed[order] * (1 - 1e-9)).sum(axis=0) + drawn
    p = np.maximum.accumulate((beyond / (len(chance) + drawn))[::-1])[::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = p
    return adjusted


def holm(p: Matrix) -> Matrix:
    """Adjusted p-values of a family (Holm 1979), of as many p-values, in any order."""
    order, adjusted = np.argsort(p), np.empty(len(p))
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def measure(
    scores: Mapping[str, Matrix],
    statistic: str,
    ranges: Ranges | None,
    *,
    seedwise: bool,
) -> dict[tuple[str, str], Measured]:
    """The differences of all pairs."""
    pairs = combinations(sorted(scores), 2)
    if ranges is not None and all(ranges) and statistic == "mean":
        bounded = partial(difference, ranges=ranges, seedwise=seedwise)
        return {(a, b): bounded(scores[a], scores[b]) for a, b in pairs}
    if seedwise:
        return {(a, b): paired_difference(scores[a], scores[b], statistic) for a, b in pairs}
    known = {name: location(matrix, statistic) for name, matrix in scores.items()}
    return {(a, b): Difference(known[a], known[b]) for a, b in pairs}


def adjusted_p(
    measured: Mapping[tuple[str, str], Measured],
    scores: Mapping[str, Matrix],
    statistic: str,
    foreign: Container[str] = (),
    draws: int = DRAWS,
) -> dict[tuple[str, str], float]:
    """Adjusted p-values of a family of pairs; those of the suite's own rows among themselves."""
    p = {pair: of.p_value() for pair, of in measured.items()}
    adjusted = {pair: min(1.0, own * len(p)) for pair, own in p.items()}
    if any(isinstance(of, Apart) for of in measured.values()):
        adjusted = dict(zip(p, holm(np.array([*p.values()])).tolist(), strict=True))
    pairs, observed, chance = by_chance(measured, scores, statistic, foreign, draws)
    if pairs:
        drawn = int(len(chance) == draws)  # and not all signs
        by_all = step_down(np.abs(observed), np.abs(chance), drawn)
        for pair, of_all in zip(pairs, by_all.tolist(), strict=True):
            alone = isinstance(measured[pair], Difference)
            adjusted[pair] = max(p[pair], of_all) if alone else of_all
    own = {pair: of for pair, of in measured.items() if not any(name in foreign for name in pair)}
    if 0 < len(own) < len(measured):
        adjusted |= adjusted_p(own, scores, statistic, (), draws)
    return adjusted


def by_chance(
    measured: Mapping[tuple[str, str], Measured],
    scores: Mapping[str, Matrix],
    statistic: str,
    foreign: Container[str],
    draws: int = DRAWS,
) -> tuple[list[tuple[str, str]], Matrix, Matrix]:
    """The pairs for which chance is drawn, how far the first is ahead, and that by chance.

    These are ``[pairs]`` and ``[draws, pairs]``. Runs without variance have a p-value of their own.
    """
    if paired := [pair for pair, of in measured.items() if isinstance(of, Value)]:
        return paired, *flips(scores, paired, statistic, draws)
    known = {pair: of for pair, of in measured.items() if isinstance(of, Difference)}
    varying = {n: of for n, of in known.items() if of.first.variance + of.second.variance}
    if not varying:
        return [], np.zeros(0), np.zeros((0, 0))
    return list(varying), *deviates(varying, foreign, draws)


def flips(
    scores: Mapping[str, Matrix],
    pairs: Sequence[tuple[str, str]],
    statistic: str,
    draws: int = DRAWS,
) -> tuple[Matrix, Matrix]:
    """Statistics of pairs, ``[pairs]``, and with seeds' signs flipped, ``[draws, pairs]``.

    Of methods that met the same worlds. A sum over the root of the sum of squares, which flips
    leave as it is, is monotone in t.
    """
    by_name = {name: by_seed(matrix, statistic)[:, 0] for name, matrix in scores.items()}
    values = {name: point(statistic, matrix) for name, matrix in scores.items()}
    differences = np.stack([by_name[a] - by_name[b] for a, b in pairs], axis=1)  # [seeds, pairs]
    differences += [values[a] - values[b] for a, b in pairs] - differences.mean(axis=0)
    size = np.sqrt((differences**2).sum(axis=0))
    unit = differences / np.where(size > 0, size, 1.0)
    seeds = len(unit)
    if seeds <= ALL_UP_TO:
        signs = (np.arange(2**seeds)[:, None] >> np.arange(seeds) & 1) * 2.0 - 1.0
    else:
        generator = np.random.default_rng(derive_seed("signs"))
        signs = generator.integers(2, size=(draws, seeds)) * 2.0 - 1.0
    return unit.sum(axis=0), signs @ unit


def deviates(
    pairs: Mapping[tuple[str, str], Difference], foreign: Container[str], draws: int = DRAWS
) -> tuple[Matrix, Matrix]:
    """Pairs' differences as normal deviates, ``[pairs]``, and by chance, ``[draws, pairs]``.

    Args:
        pairs: of independent runs; at least one of a pair varies.
        foreign: methods that take the floor of variances and do not make it, unless all are.
        draws: number of them.
    """
    known = {a: of.first for (a, _), of in pairs.items()}
    known |= {b: of.second for (_, b), of in pairs.items()}
    contrasts = np.array([[(name == a) - float(name == b) for a, b in pairs] for name in known])
    degrees = np.array([[of.seeds - 1.0] for of in known.values()])
    true = np.array([of.variances for of in known.values()])
    own = np.array([name not in foreign for name in known])
    own = own if own.any() else ~own
    generator = np.random.default_rng(derive_seed("differences"))
    means = generator.standard_normal((draws, len(known))) * np.sqrt(true.sum(axis=1))
    variances = true * generator.chisquare(degrees, (draws, *true.shape)) / degrees
    values = np.array([of.value for of in known.values()])
    observed = _deviates(values, true, degrees, contrasts, own)
    return observed, _deviates(means, variances, degrees, contrasts, own)


def _deviates(
    means: Matrix, variances: Matrix, degrees: Matrix, contrasts: Matrix, own: NDArray[np.bool_]
) -> Matrix:
    """The normal deviates that are about as rare as pairs' t, ``[…, pairs]``.

    With d the difference of two means, v its variance and f the degrees of freedom of v
    (Satterthwaite 1946: v² / Σ vᵢ² / fᵢ over the tasks of both methods), t² = d² / v, and the
    deviate is (8 f + 1) / (8 f + 3) · √(f log(1 + t² / f)), with the sign of d (Wallace 1959).

    Args:
        means: ``[…, methods]``.
        variances: that each task adds to them, ``[…, methods, tasks]``; of a run, none counts as
            less than the mean over the methods that are ``own``.
        degrees: of freedom of each variance, ``[methods, 1]``.
        contrasts: 1 for a pair's first method, −1 for its second, ``[methods, pairs]``.
        own: the methods that make the floor, ``[methods]``.
    """
    of_runs = variances * (degrees + 1)
    floor = of_runs[..., own, :].mean(axis=-2, keepdims=True)
    raised = np.maximum(of_runs, floor) / (degrees + 1)
    both = np.abs(contrasts)
    v = raised.sum(axis=-1) @ both
    f = v**2 / ((raised**2 / degrees).sum(axis=-1) @ both)
    d = means @ contrasts
    root = np.sqrt(f * np.log1p(d**2 / v / f))
    return np.asarray(np.sign(d) * (8 * f + 1) / (8 * f + 3) * root)
