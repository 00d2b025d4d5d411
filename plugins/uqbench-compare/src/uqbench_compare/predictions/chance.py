"""The scores of a statement that is the same for every point, by the targets' shares alone.

Each is a function of the same predictions as the score, which it does not call: the statement is
read at the first point, and the targets are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erf, exp, log, nan, pi, sqrt

import numpy as np

from uqbench_compare.predictions.registered import MASS, NORMAL_90, TEST, Given

Law = tuple[list[float], list[float]]
"""Probabilities of the classes that are stated, and the targets' shares."""


def nll(given: Given, name: str = TEST) -> float:
    """``−Σ_c f_c log p_c``, or the mean over targets of a normal's."""
    if (law := _classes(given, name)) is not None:
        total = sum(law[0])
        return -sum(f * log(max(p / total, 1e-12)) for p, f in zip(*law, strict=True) if f)
    return _mean(given, name, lambda z, s: 0.5 * z * z + log(s) + 0.5 * log(2 * pi))


def brier(given: Given, name: str = TEST) -> float:
    """``Σ_c p_c² − 2 Σ_c f_c p_c + 1``."""
    law = _classes(given, name)
    if law is None:
        return nan
    return sum(p * p for p in law[0]) - 2 * sum(p * f for p, f in zip(*law, strict=True)) + 1


def accuracy(given: Given, name: str = TEST) -> float:
    """The mean share of the most probable classes: of one, of k the k-th part of their sum."""
    law = _classes(given, name)
    if law is None:
        return nan
    best = [f for p, f in zip(*law, strict=True) if p == max(law[0])]
    return sum(best) / len(best)


def ece(given: Given, name: str = TEST) -> float:
    """``|accuracy − max p|``: one confidence is one bin."""
    law = _classes(given, name)
    return nan if law is None else abs(accuracy(given, name) - max(law[0]))


def aurc(given: Given, name: str = TEST) -> float:
    """The mean loss: in a random order the k first have the risk of all."""
    if _classes(given, name) is not None:
        return 1 - accuracy(given, name)
    return rmse(given, name) ** 2


def coverage_90(given: Given, name: str = TEST) -> float:
    """``Σ_c f_c w_c`` of the classes' parts of the set, or the share of targets in the interval."""
    if (law := _classes(given, name)) is not None:
        return sum(w * f for w, f in zip(_parts(law[0]), law[1], strict=True))
    return _mean(given, name, lambda z, _: float(abs(z) <= NORMAL_90))


def width_90(given: Given, name: str = TEST) -> float:
    """``Σ_c w_c``, or the interval's width."""
    if (law := _classes(given, name)) is not None:
        return sum(_parts(law[0]))
    return _mean(given, name, lambda _, s: 2 * NORMAL_90 * s)


def rmse(given: Given, name: str = TEST) -> float:
    """``√ mean (y − m)²``."""
    return sqrt(_mean(given, name, lambda z, s: (z * s) ** 2))


def crps(given: Given, name: str = TEST) -> float:
    """The mean over targets of ``s (z erf(z/√2) + 2φ(z) − 1/√π)``."""
    return _mean(
        given,
        name,
        lambda z, s: s * (z * erf(z / sqrt(2)) + sqrt(2 / pi) * exp(-z * z / 2) - 1 / sqrt(pi)),
    )


def brier_or_crps(given: Given, name: str = TEST) -> float:
    """That of the Brier score, or of the CRPS."""
    return crps(given, name) if _classes(given, name) is None else brier(given, name)


def interval_score_90(given: Given, name: str = TEST) -> float:
    """``2 q s``, and twenty times the mean of ``s (|z| − q)⁺``, q a normal's 95 % quantile."""
    beyond = _mean(given, name, lambda z, s: s * max(abs(z) - NORMAL_90, 0))
    return width_90(given, name) + 20 * beyond


def over(chance: Callable[[Given, str], float], *names: str) -> Callable[[Given], float]:
    """The mean over other sets than ``test``; NaN where there are none."""

    def mean(given: Given) -> float:
        return sum(chance(given, n) for n in names) / len(names) if names[0] in given else nan

    return mean


corrupted_nll, corrupted_ece = over(nll, "corrupted"), over(ece, "corrupted")
STRENGTHS = tuple(f"strength-{strength}" for strength in range(1, 6))
shifted_nll, shifted_ece, shifted_accuracy = (over(of, *STRENGTHS) for of in (nll, ece, accuracy))
nll_1, nll_2, nll_3, nll_4, nll_5 = (over(nll, strength) for strength in STRENGTHS)


def told_by_energy(given: Given) -> float:
    """One half, as any order of equal numbers has; NaN where there are no logits."""
    return nan if given[TEST].predicted.energy is None else 0.5


def told_by_score(given: Given) -> float:
    """One half; NaN where there is no score of the row's own."""
    return nan if given[TEST].predicted.score is None else 0.5


def told_by_energy_gain(given: Given) -> float:
    """Zero, the difference of two halves; NaN where there are no logits."""
    return told_by_energy(given) - 0.5


def told_by_score_gain(given: Given) -> float:
    """Zero; NaN where there is no score of the row's own."""
    return told_by_score(given) - 0.5


def joint_nll(given: Given) -> float:
    """That of independent points; NaN of a regression whose models have no noise."""
    said = given[TEST].predicted
    noisy = said.probs is not None or said.members is None or bool((said.aleatoric > 0).all())
    return nll(given) if noisy else nan


def _classes(given: Given, name: str) -> Law | None:
    probs, targets = given[name].predicted.probs, given[name].targets
    if probs is None or targets is None:
        return None
    shares = np.bincount(targets[0], minlength=probs.shape[-1]) / targets.shape[1]
    return probs[0, 0].tolist(), shares.tolist()


def _mean(given: Given, name: str, of: Callable[[float, float], float]) -> float:
    """The mean over targets of a function of ``(y − m)/s`` and ``s``; NaN of classes."""
    one = given[name]
    if one.predicted.mean is None or one.targets is None:
        return nan
    mean, std = float(one.predicted.mean[0, 0]), sqrt(float(one.predicted.total[0, 0]))
    each = [of((y - mean) / std, std) for y in one.targets[0].tolist()]
    return sum(each) / len(each)


def _parts(probs: list[float]) -> list[float]:
    """How far each class is in the set: whole, or j of k equally probable ones, or not."""
    parts, before = dict.fromkeys(probs, 0.0), 0.0
    for p in sorted(parts, reverse=True):
        count = probs.count(p)
        needed = sum(before + j * p < MASS - 1e-6 for j in range(count))
        parts[p] = needed / count
        before += count * p
    return [parts[p] for p in probs]
