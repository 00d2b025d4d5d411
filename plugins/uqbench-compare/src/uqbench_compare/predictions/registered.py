"""Scores of what a run predicted, by the names under which they are registered.

Each is a function of one run's predictions by evaluation set, with one lane, as they are stored:
NumPy arrays in float64, classes in int64.
Those of accuracy and calibration are of the set ``test``. NaN where a prediction does not say
enough: a regression has no Brier score, and classes have no CRPS. Equal numbers are in no order:
scores are means over all orders within a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log, nan, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp, ndtr

from uqbench.contract.estimator import Predictions, PredictiveUncertainty
from uqbench_compare.predictions import BINS
from uqbench_compare.predictions.detection import detection, mean_of_most_certain, tie_means

Array = NDArray[Any]
Given = Mapping[str, Predictions[Array]]
Said = PredictiveUncertainty[Array]
TEST = "test"
MASS = 0.9
"""Mass of prediction sets and intervals."""
NORMAL_90 = 1.6448536269514722
"""A normal's 95 % quantile."""
TOGETHER = 10
"""Points of a joint likelihood."""
LEAST = 1e-12
"""A probability of zero would make one point decide the whole."""
ROUNDING = 1e-6
"""Rounding of sums of float32 probabilities."""
AGREEMENT = 1e-2
"""How far models' mean may be from predictions; a thousand draws have 0.004, twenty 0.1."""


def nll(given: Given, name: str = TEST) -> float:
    """Mean negative log-likelihood of the targets, in nats."""
    return float(-_log_likelihood(given[name]).mean())


def brier(given: Given, name: str = TEST) -> float:
    """Mean over points of ``Σ_c (p_c − 1[c = y])²`` (Brier 1950)."""
    probs, targets = classes(given[name])
    if probs is None:
        return nan
    errors = probs - (targets[:, None] == np.arange(probs.shape[-1]))
    return float(np.square(errors).sum(-1).mean())


def accuracy(given: Given, name: str = TEST) -> float:
    """Share of points whose most probable class is theirs; of k such, the k-th part of a point."""
    probs, targets = classes(given[name])
    return nan if probs is None else float(right(probs, targets).mean())


def ece(given: Given, name: str = TEST, bins: int = BINS) -> float:
    """Calibration error of the most probable class over bins of equally many points.

    ``Σ_b |B_b|/M |accuracy(B_b) − confidence(B_b)|``, fifteen bins. Points of the same confidence
    have their mean gap each, on whichever side of a cut they are: one confidence for all has
    |accuracy − confidence|. A calibrated method of n points, each with another confidence, does not
    have 0 but, by the mean absolute value of a normal, about ``√(30 v/(π n))``, v being the mean of
    c (1 − c): 0.12 of 150 points with c = 0.6, 0.015 of 10,000. Compare methods at the same n.

    Source: Nguyen & O'Connor 2015
    """
    probs, targets = classes(given[name])
    if probs is None:
        return nan
    confidence = probs.max(-1)
    gap = tie_means(right(probs, targets) - confidence, confidence)
    parts = np.array_split(gap[confidence.argsort()], bins)
    return sum(abs(float(part.sum())) for part in parts) / len(gap)


def aurc(given: Given, name: str = TEST) -> float:
    """Area under the risk of the k most certain points over k/M, by total uncertainty.

    The risk is the share of errors, of a regression the mean squared error.

    Source: Geifman et al. 2019
    """
    one = given[name]
    probs, targets = classes(one)
    if probs is not None:
        loss = 1 - right(probs, targets)
    elif one.predicted.mean is not None:
        loss = np.square(one.predicted.mean[0] - _targets(one))
    else:
        return nan
    return float(mean_of_most_certain(one.predicted.total[0], loss))


def coverage_90(given: Given, name: str = TEST) -> float:
    """Share of targets in the 90 % prediction sets or intervals.

    Equally probable classes, not all of which are in the set, are each in that part of it.
    """
    return _covered_and_width(given[name])[0]


def width_90(given: Given, name: str = TEST) -> float:
    """Mean number of classes in the 90 % prediction sets, or mean width of the 90 % intervals."""
    return _covered_and_width(given[name])[1]


def joint_nll(given: Given, name: str = TEST) -> float:
    """Negative log-likelihood of ten points together, over the number of points, in nats.

    ``−log E_s Π_i p_s(y_i)`` over the models s that predict all points, in groups of ten in the
    order of the set, the last one of what is left. A method without such models predicts points
    independently and has its ``nll``. NaN where the models' mean is not what is predicted: of the
    first models alone the logarithm of the mean is too low, by half its relative variance
    (Dataset.members). NaN of a regression's models without noise, whose targets have no density.

    Proper: no label is asked twice, so that the truth's expected score is the best. Copies of one
    label would not be: models that are labels drawn from the truth would beat it.

    Source: Osband et al. 2022, "The neural testbed", τ = 10
    """
    one = given[name]
    members, targets = one.predicted.members, _targets(one)
    marginal = one.predicted.mean if one.predicted.probs is None else one.predicted.probs
    if members is None or marginal is None:
        return nll(given, name)
    if not _is_mean_of(members, marginal):
        return nan
    if one.predicted.probs is None:
        if (one.predicted.aleatoric <= 0).any():
            return nan
        each = _log_normal(targets, members[:, 0, :, 0], one.predicted.aleatoric[0])
    else:
        each = _log_probability(members[:, 0], targets[None])
    groups = np.add.reduceat(each, np.arange(0, len(targets), TOGETHER), 1)
    return float(-(logsumexp(groups, 0) - log(len(each))).sum() / len(targets))


def rmse(given: Given, name: str = TEST) -> float:
    """Root of the mean squared error of a regression's mean."""
    one = given[name]
    if one.predicted.mean is None:
        return nan
    return float(np.sqrt(np.square(one.predicted.mean[0] - _targets(one)).mean()))


def crps(given: Given, name: str = TEST) -> float:
    """Mean continuous ranked probability score of a regression's normal.

    ``σ (z (2Φ(z) − 1) + 2φ(z) − 1/√π)`` with ``z = (y − μ)/σ`` (Gneiting & Raftery 2007, eq. 21).
    """
    one = given[name]
    if one.predicted.mean is None:
        return nan
    std = np.sqrt(one.predicted.total[0].clip(LEAST))
    z = (_targets(one) - one.predicted.mean[0]) / std
    density = np.exp(-0.5 * np.square(z)) / (2 * pi) ** 0.5
    return float((std * (z * (2 * ndtr(z) - 1) + 2 * density - pi**-0.5)).mean())


def brier_or_crps(given: Given, name: str = TEST) -> float:
    """The Brier score of classes, the CRPS of values: on tables of both kinds one score.

    Both are the squared distance of a stated law from what came: over classes, and of a
    distribution function over the line (Gneiting & Raftery 2007, section 4.2).
    """
    return crps(given, name) if given[name].predicted.probs is None else brier(given, name)


def interval_score_90(given: Given, name: str = TEST) -> float:
    """The width of a 90 % interval, and twenty times the distance of a target outside of it.

    ``u − l + 2/α ((l − y)⁺ + (y − u)⁺)``, α = 0.1; NaN of classes (Gneiting & Raftery 2007, eq.
    43).
    """
    if given[name].predicted.probs is not None:
        return nan
    ends, targets = interval_90(given[name].predicted), _targets(given[name])
    if ends is None:
        return nan
    low, high = ends
    outside = (low - targets).clip(0) + (targets - high).clip(0)
    return float((high - low + 2 / (1 - MASS) * outside).mean())


def largest_probability(said: Said) -> Array:
    """One minus the largest probability (Hendrycks & Gimpel 2017), or the total variance."""
    return said.total if said.probs is None else 1 - said.probs.max(-1)


ORDERS: Mapping[str, Callable[[Said], Array | None]] = {
    "msp": largest_probability,
    "entropy": lambda said: said.total if said.probs is None else entr(said.probs).sum(-1),
    "mi": lambda said: said.epistemic,
    "energy": lambda said: said.energy,
    "score": lambda said: said.score,
}
"""Questions by which inputs are ordered: the largest probability; the entropy of the probabilities;
the mutual information of class and model, zero for all inputs where there is one model; the energy
of the logits; a detector's own score, or a distance. Each is a column by itself."""


def auroc(given: Given, outside: str = "outside", order: str | None = None) -> float:
    """Area under the ROC curve for telling the points of a set from those of ``test``.

    Without a question by the score of a detector, or else by the largest probability.

    NaN where the prediction does not answer the question (:data:`ORDERS`).
    """
    if outside not in given:
        return nan
    scored = all(given[name].predicted.score is not None for name in (outside, TEST))
    question = ORDERS[order or ("score" if scored else "msp")]
    positive, negative = (question(given[name].predicted) for name in (outside, TEST))
    if positive is None or negative is None:
        return nan
    return float(detection(positive, negative)["auroc"][0])


def told_by(order: str) -> list[Callable[[Given], float]]:
    """AUROC of the four kinds of other inputs by one question."""
    outside = ("near", "far", "rotated", "inverted")
    return [partial(auroc, outside=name, order=order) for name in outside]


near_msp, far_msp, rotated_msp, inverted_msp = told_by("msp")
near_entropy, far_entropy, rotated_entropy, inverted_entropy = told_by("entropy")
near_mi, far_mi, rotated_mi, inverted_mi = told_by("mi")
near_energy, far_energy, rotated_energy, inverted_energy = told_by("energy")
near_score, far_score, rotated_score, inverted_score = told_by("score")


def gained(outside: str, order: str) -> Callable[[Given], float]:
    """AUROC by a question less that by the largest probability, of the same predictions.

    NaN where one of the two has no value.
    """

    def gain(given: Given) -> float:
        return auroc(given, outside, order) - auroc(given, outside, "msp")

    return gain


near_energy_gain, far_energy_gain = (gained(outside, "energy") for outside in ("near", "far"))
near_score_gain, far_score_gain = (gained(outside, "score") for outside in ("near", "far"))


def corrupted_nll(given: Given) -> float:
    """The negative log-likelihood of corrupted inputs' targets."""
    return nll(given, "corrupted") if "corrupted" in given else nan


def corrupted_ece(given: Given) -> float:
    """The calibration error on corrupted inputs."""
    return ece(given, "corrupted") if "corrupted" in given else nan


def shifted(given: Given, score: Callable[[Given, str], float], strengths: Sequence[int]) -> float:
    """The mean of a score over the sets ``strength-1`` to ``strength-5``, or some of them.

    Source: Ovadia et al. 2019
    """
    names = [f"strength-{strength}" for strength in strengths]
    return sum(score(given, name) for name in names) / len(names) if names[0] in given else nan


shifted_nll, shifted_ece, shifted_accuracy = (
    partial(shifted, score=score, strengths=range(1, 6)) for score in (nll, ece, accuracy)
)
nll_1, nll_2, nll_3, nll_4, nll_5 = (
    partial(shifted, score=nll, strengths=(strength,)) for strength in range(1, 6)
)


def _targets(one: Predictions[Array]) -> Array:
    if one.targets is None:
        raise ValueError("expected an evaluation set with targets")
    targets: Array = one.targets[0]
    return targets


def classes(one: Predictions[Array]) -> tuple[Array | None, Array]:
    """Probabilities ``[M, C]``, None of a regression, and targets ``[M]``."""
    probs = one.predicted.probs
    return None if probs is None else probs[0], _targets(one)


def _log_likelihood(one: Predictions[Array]) -> Array:
    """Log likelihood of every target, ``[M]``.

    By classes, or by a normal with the total variance.
    """
    probs, targets = classes(one)
    if probs is not None:
        return _log_probability(probs, targets)
    if one.predicted.mean is None:
        return np.full(len(targets), nan)
    return _log_normal(targets, one.predicted.mean[0], one.predicted.total[0])


def _log_probability(probs: Array, targets: Array) -> Array:
    """Log probability of each target, ``[..., C]`` and ``[...]``.

    A sum beyond one gains nothing.
    """
    total = probs.sum(-1)
    total = np.where(abs(total - 1) > ROUNDING, total, 1.0)
    logs: Array = np.log((at(probs, targets) / total).clip(LEAST))
    return logs


def _is_mean_of(members: Array, marginal: Array) -> bool:
    """Whether models ``[S, 1, M, C]`` or ``[S, 1, M, 1]`` have this mean."""
    mean = members.mean(0).reshape(marginal.shape)
    return bool((abs(mean - marginal) <= AGREEMENT * (1 + abs(marginal))).all())


def right(probs: Array, targets: Array) -> Array:
    """1 where a target is the most probable class, 1/k where it is one of k such, ``[M]``."""
    best = probs == probs.max(-1, keepdims=True)
    share: Array = at(best, targets) / best.sum(-1)
    return share


def at(values: Array, targets: Array) -> Array:
    """Each target's own, of ``[..., C]`` and ``[...]``."""
    own: Array = np.take_along_axis(values, targets[..., None], -1)[..., 0]
    return own


def _log_normal(value: Array, mean: Array, variance: Array) -> Array:
    variance = variance.clip(LEAST)
    logs: Array = -0.5 * (np.log(2 * pi * variance) + np.square(value - mean) / variance)
    return logs


def _covered_and_width(one: Predictions[Array]) -> tuple[float, float]:
    """Coverage and width of 90 % sets.

    The given ones, or the most probable classes, or a normal's interval.
    """
    probs, targets = classes(one)
    said = one.predicted
    if probs is not None:
        stated = _most_probable(probs) if said.classes is None else said.classes[0] > 0
        return float(at(stated, targets).mean()), float(stated.sum(-1).mean())
    if (ends := interval_90(said)) is None:
        return nan, nan
    low, high = ends
    inside = (low <= targets) & (targets <= high)
    return float(inside.mean()), float((high - low).mean())


def interval_90(said: Said) -> tuple[Array, Array] | None:
    """Ends ``[M]`` of the 90 % intervals that are given, or that a normal has; None of classes."""
    if said.interval is not None:
        low, high = said.interval[0].T
    elif said.mean is not None:
        half = NORMAL_90 * np.sqrt(said.total[0].clip(0))
        low, high = said.mean[0] - half, said.mean[0] + half
    else:
        return None
    return low, high


def _most_probable(probs: Array) -> Array:
    """How far each class is among the fewest with 90 % of the probability, ``[M, C]``: 0 to 1.

    Each of k equally probable ones, j of which are needed, is by j/k.
    """
    ordered = np.sort(probs)[:, ::-1]
    count = (ordered.cumsum(-1) - ordered < MASS - ROUNDING).sum(-1, keepdims=True)
    last = np.take_along_axis(ordered, count - 1, -1)
    surely, maybe = probs > last, probs == last
    needed = count - surely.sum(-1, keepdims=True)
    parts: Array = surely + maybe * needed / maybe.sum(-1, keepdims=True)
    return parts
