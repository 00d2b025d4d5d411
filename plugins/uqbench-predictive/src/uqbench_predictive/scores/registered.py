"""Scores of what a run predicted, by the names under which they are registered.

Each is a function of one run's predictions by evaluation set, with one lane, as they are stored.
Those of accuracy and calibration are of the set ``test``. NaN where a prediction does not say
enough: a regression has no Brier score, and classes have no CRPS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log, nan, pi

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from uqbench.contract.estimator import Predictions
from uqbench_predictive.scores.detection import detection

Given = Mapping[str, Predictions]
TEST = "test"
BINS = 15
"""Of the calibration error: as many points in each."""
MASS = 0.9
"""Of prediction sets and intervals."""
NORMAL_90 = 1.6448536269514722
"""A normal's 95 % quantile."""
TOGETHER = 10
"""Points of a joint likelihood."""
LEAST = 1e-12
"""A probability of zero would make one point decide the whole."""


def nll(given: Given, name: str = TEST) -> float:
    """Mean negative log-likelihood of the targets, in nats."""
    return float(-_log_likelihood(given[name]).mean())


def brier(given: Given, name: str = TEST) -> float:
    """Mean over points of ``Σ_c (p_c − 1[c = y])²`` (Brier 1950)."""
    probs, targets = _classes(given[name])
    if probs is None:
        return nan
    errors = probs - one_hot(targets, probs.shape[-1])
    return float(errors.square().sum(-1).mean())


def accuracy(given: Given, name: str = TEST) -> float:
    """Share of points whose most probable class is theirs."""
    probs, targets = _classes(given[name])
    return nan if probs is None else float((probs.argmax(-1) == targets).double().mean())


def ece(given: Given, name: str = TEST) -> float:
    """Calibration error of the most probable class over bins of equally many points.

    ``Σ_b |B_b|/M |accuracy(B_b) − confidence(B_b)|``, fifteen bins.

    Source: Nguyen & O'Connor 2015
    """
    probs, targets = _classes(given[name])
    if probs is None:
        return nan
    confidence, best = probs.max(-1)
    gap = (best == targets).double() - confidence
    parts = gap[confidence.argsort(stable=True)].tensor_split(BINS)
    return sum(abs(float(part.sum())) for part in parts) / len(gap)


def aurc(given: Given, name: str = TEST) -> float:
    """Area under the risk of the k most certain points over k/M, by total uncertainty.

    The risk is the share of errors, of a regression the mean squared error.

    Source: Geifman et al. 2019
    """
    one = given[name]
    probs, targets = _classes(one)
    if probs is not None:
        loss = (probs.argmax(-1) != targets).double()
    elif one.predicted.mean is not None:
        loss = (one.predicted.mean[0] - _targets(one)).square()
    else:
        return nan
    order = one.predicted.total[0].argsort(stable=True)
    risks = loss[order].cumsum(0) / torch.arange(1, len(loss) + 1)
    return float(risks.mean())


def coverage_90(given: Given, name: str = TEST) -> float:
    """Share of targets in the 90 % prediction sets or intervals."""
    return _covered_and_width(given[name])[0]


def width_90(given: Given, name: str = TEST) -> float:
    """Mean number of classes in the 90 % prediction sets, or mean width of the 90 % intervals."""
    return _covered_and_width(given[name])[1]


def joint_nll(given: Given, name: str = TEST) -> float:
    """Negative log-likelihood of ten points together, over ten, in nats.

    ``−log E_s Π_i p_s(y_i)`` over the models s that predict all points, in groups of ten in the
    order of the set; a method without such models predicts points independently.

    Source: Osband et al. 2022, "The neural testbed", τ = 10
    """
    one = given[name]
    members, targets = one.predicted.members, _targets(one)
    groups = len(targets) // TOGETHER
    if members is None:
        each = _log_likelihood(one)[None]
    elif one.predicted.probs is not None:
        each = members[:, 0].gather(-1, targets.expand(len(members), -1)[..., None]).squeeze(-1)
        each = each.clamp(min=LEAST).log()
    else:
        each = _log_normal(targets, members[:, 0, :, 0], one.predicted.aleatoric[0])
    together = each[:, : groups * TOGETHER].unflatten(1, (groups, TOGETHER)).sum(-1)
    return float(-(torch.logsumexp(together, 0) - log(len(each))).mean() / TOGETHER)


def rmse(given: Given, name: str = TEST) -> float:
    """Root of the mean squared error of a regression's mean."""
    one = given[name]
    if one.predicted.mean is None:
        return nan
    return float((one.predicted.mean[0] - _targets(one)).square().mean().sqrt())


def crps(given: Given, name: str = TEST) -> float:
    """Mean continuous ranked probability score of a regression's normal.

    ``σ (z (2Φ(z) − 1) + 2φ(z) − 1/√π)`` with ``z = (y − μ)/σ`` (Gneiting & Raftery 2007, eq. 21).
    """
    one = given[name]
    if one.predicted.mean is None:
        return nan
    std = one.predicted.total[0].clamp(min=LEAST).sqrt()
    z = (_targets(one) - one.predicted.mean[0]) / std
    density = (-0.5 * z.square()).exp() / (2 * pi) ** 0.5
    below = torch.special.ndtr(z)
    return float((std * (z * (2 * below - 1) + 2 * density - pi**-0.5)).mean())


def auroc(given: Given, outside: str = "outside") -> float:
    """Area under the ROC curve for telling the points of a set from those of ``test``."""
    if outside not in given:
        return nan
    positive, negative = given[outside].predicted.novelty, given[TEST].predicted.novelty
    return float(detection(positive, negative)["auroc"][0])


near_auroc, far_auroc, rotated_auroc, inverted_auroc = (
    partial(auroc, outside=name) for name in ("near", "far", "rotated", "inverted")
)


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


def _targets(one: Predictions) -> Tensor:
    if one.targets is None:
        raise ValueError("expected an evaluation set with targets")
    return one.targets[0]


def _classes(one: Predictions) -> tuple[Tensor | None, Tensor]:
    """Probabilities ``[M, C]``, None of a regression, and targets ``[M]``."""
    probs = one.predicted.probs
    return None if probs is None else probs[0], _targets(one)


def _log_likelihood(one: Predictions) -> Tensor:
    """Of every target, ``[M]``: of classes, or of a normal with the total variance."""
    probs, targets = _classes(one)
    if probs is not None:
        return probs.gather(-1, targets[:, None]).squeeze(-1).clamp(min=LEAST).log()
    if one.predicted.mean is None:
        return torch.full_like(targets, nan)
    return _log_normal(targets, one.predicted.mean[0], one.predicted.total[0])


def _log_normal(value: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    variance = variance.clamp(min=LEAST)
    return -0.5 * ((2 * pi * variance).log() + (value - mean).square() / variance)


def _covered_and_width(one: Predictions) -> tuple[float, float]:
    """Of 90 % sets: those that are stated, or the most probable classes, or a normal's interval."""
    probs, targets = _classes(one)
    said = one.predicted
    if probs is not None:
        stated = _most_probable(probs) if said.classes is None else said.classes[0] > 0
        covered = stated.gather(-1, targets[:, None]).double()
        return float(covered.mean()), float(stated.double().sum(-1).mean())
    if said.interval is not None:
        low, high = said.interval[0].unbind(-1)
    elif said.mean is not None:
        half = NORMAL_90 * said.total[0].clamp(min=0).sqrt()
        low, high = said.mean[0] - half, said.mean[0] + half
    else:
        return nan, nan
    inside = (low <= targets) & (targets <= high)
    return float(inside.double().mean()), float((high - low).mean())


def _most_probable(probs: Tensor) -> Tensor:
    """The fewest classes with 90 % of the probability, ``[M, C]``."""
    ordered, index = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    return torch.zeros_like(probs, dtype=torch.bool).scatter(-1, index, before < MASS)
