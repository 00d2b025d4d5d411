"""Scores of predictions that somebody has: what each needs, its range, and those of formats alone.

A run stores no quantiles and no samples; whoever has them has their scores here. The needs are of
the registered scores, too: a score that a format cannot support is absent, and says what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from math import inf, nan, pi
from typing import Literal

import numpy as np
from scipy.special import ndtr

from uqbench.contract.specs import ScoreSpec
from uqbench.registry.definitions import summary
from uqbench_compare.predictions import BINS, registered
from uqbench_compare.predictions.detection import detection
from uqbench_compare.predictions.registered import TEST, Array, Given
from uqbench_compare.predictions.stated import Stated

PARTS = {
    "targets": "targets",
    "probs": "class probabilities",
    "density": "class probabilities, or a mean with a variance",
    "models": "class probabilities, or a mean with a variance",
    "law": "a mean with a variance, members, or samples",
    "point": "class probabilities, or a mean with a variance",
    "order": "an uncertainty",
    "values": "a mean",
    "quantiles": "quantiles, or samples",
    "set": "class probabilities, a 90 % interval, or a mean with a variance",
    "interval": "a 90 % interval, or a mean with a variance",
    "energy": "logits",
    "members": "members, without which points are independent, and each has its nll",
    "told": "class probabilities, a variance, or a detector's score",
}
"""What a prediction may say, in words."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("brier", "accuracy", "ece", "ece_width"), ("targets", "probs")),
    **dict.fromkeys(("nll", "brier_or_crps"), ("targets", "density")),
    "aurc": ("targets", "point"),
    **dict.fromkeys(("coverage_90", "width_90"), ("targets", "set")),
    "joint_nll": ("targets", "members", "models"),
    "rmse": ("targets", "values"),
    "crps": ("targets", "law"),
    "quantile_loss": ("targets", "quantiles"),
    "interval_score_90": ("targets", "interval"),
    **dict.fromkeys(("auroc", "aupr", "fpr95"), ("outside", "told")),
    **dict.fromkeys(("corrupted_nll", "corrupted_ece"), ("corrupted",)),
    **{f"shifted_{name}": ("strength-1",) for name in ("nll", "ece", "accuracy")},
    **{f"nll_{k}": (f"strength-{k}",) for k in range(1, 6)},
    **{
        f"{outside}_{order}": (outside,)
        for outside in ("near", "far", "rotated", "inverted")
        for order in (*registered.ORDERS, "energy_gain", "score_gain")
    },
}
"""Parts of a prediction, or other sets, without any of which a score has no value."""
SHARE, POSITIVE = (0.0, 1.0), (0.0, inf)
FAR = 40.0
"""Deviations from which on a normal has no mass in float64."""
RANGES: Mapping[str, tuple[float, float]] = {
    "brier": (0.0, 2.0),
    **dict.fromkeys(
        ("accuracy", "ece", "ece_width", "coverage_90", "auroc", "aupr", "fpr95"), SHARE
    ),
    **dict.fromkeys(
        (
            "aurc", "width_90", "rmse", "crps", "quantile_loss", "interval_score_90",
            "brier_or_crps",
        ),
        POSITIVE,
    ),
}  # fmt: skip
"""The least and the greatest value of a score; others may be any number."""


@dataclass(frozen=True)
class Score:
    """A score of predictions.

    Attributes:
        value: the score itself.
        direction: whether more (``max``) or less (``min``) is better.
        summary: one line.
        joint: whether points are scored in groups of neighbors.
    """

    value: Callable[[Given], float]
    direction: Literal["max", "min"]
    summary: str
    joint: bool = False


def known_scores(specs: Mapping[str, ScoreSpec], bins: int = BINS) -> dict[str, Score]:
    """The registered scores and those of formats alone, by name.

    Args:
        specs: the registered ones.
        bins: of calibration errors.
    """
    found = {}
    for name, spec in specs.items():
        value, said = spec.load_factory(), summary(spec)
        if "bins" in signature(value).parameters:
            value = partial(value, bins=bins)
            said = said.replace(f"{BINS} bins", f"{bins} bins")
        found[name] = Score(value, spec.direction, said, "permutation" in spec.without)
        if name == "ece":
            width = f"the same, {bins} bins of equal width (Guo et al. 2017)"
            found["ece_width"] = Score(partial(ece_width, bins=bins), "min", width)
    return found | {
        name: Score(value, direction, said) for name, (value, direction, said) in OWN.items()
    }


def lacking(name: str, given: Given) -> str | None:
    """What a score would need and the predictions have not, in words; None where it has all."""
    said = given[TEST].predicted
    assert isinstance(said, Stated)
    for need in NEEDS.get(name, ()):
        if need == "told":
            each = [of.predicted for of in given.values()]
            detects = any(_says("score", [of]) for of in each)
            has = any(_says(part, each) for part in (("score",) if detects else ("probs", "order")))
        elif need not in PARTS:
            has = need in given
        else:
            has = need in said.says
        if not has:
            return said.lacks.get(need) or PARTS.get(need) or f"the set {need!r}"
    return None


def _says(part: str, predictions: Sequence[object]) -> bool:
    return all(isinstance(said, Stated) and part in said.says for said in predictions)


def ece_width(given: Given, name: str = TEST, bins: int = BINS) -> float:
    """Calibration error of the most probable class over bins of equally many confidences.

    ``Σ_b |B_b|/M |accuracy(B_b) − confidence(B_b)|``; a bin is open at its lower end (Guo et al.
    2017, equation 3), as netcal's and torchmetrics' are.
    """
    probs, targets = registered.classes(given[name])
    if probs is None:
        return nan
    confidence = probs.max(-1)
    gap = registered.right(probs, targets) - confidence
    at = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], confidence)
    return float(abs(np.bincount(at, gap)).sum() / len(gap))


def quantile_loss(given: Given, name: str = TEST) -> float:
    """Mean over points and levels of ``(1[y < q] − τ)(q − y)`` (Koenker & Bassett 1978)."""
    said, targets = given[name].predicted, given[name].targets
    if not isinstance(said, Stated) or said.quantiles is None or targets is None:
        return nan
    above = said.quantiles[0] - targets[0, :, None]
    return float((((above > 0) - np.array(said.levels)) * above).mean())


def crps(given: Given, name: str = TEST) -> float:
    """That of the law which is stated: ``E|X − y| − ½ E|X − X'|``.

    Members with noise are a mixture of normals, ``mean_i A(y − μ_i, v) − ½ mean_ij A(μ_i − μ_j,
    2v)`` with A(m, v) the mean absolute value of a normal (Grimit et al. 2006, equation 5); without
    it they are their empirical distribution, as samples are: twice the mean quantile loss of sorted
    samples at the levels (k − ½)/S (Jordan, Krüger & Lerch 2019, section 2.3). A mean with a
    variance is a normal, whose score is the registered one.
    """
    said, targets = given[name].predicted, given[name].targets
    if said.members is not None and said.probs is None and targets is not None:
        means, noise = said.members[:, 0, :, 0], said.aleatoric[0].clip(0)
        pairs = [_absolute(means[i + 1 :] - means[i], 2 * noise).sum(0) for i in range(len(means))]
        among = _absolute(0 * noise, 2 * noise) / len(means) + 2 * sum(pairs) / len(means) ** 2
        return float((_absolute(targets[0] - means, noise).mean(0) - among / 2).mean())
    if isinstance(said, Stated) and "normal" not in said.says:
        return 2 * quantile_loss(given, name)
    return registered.crps(given, name)


def _absolute(mean: Array, variance: Array) -> Array:
    """The mean absolute value of normals, ``m (2Φ(m/σ) − 1) + 2σφ(m/σ)``."""
    if not variance.any():
        return abs(mean)
    std = np.sqrt(variance)
    z = (mean / np.where(std > 0, std, 1)).clip(-FAR, FAR)
    size = mean * (2 * ndtr(z) - 1) + std * np.exp(-0.5 * np.square(z)) * (2 / pi) ** 0.5
    return np.where(std > 0, size, abs(mean))


def told(given: Given, measure: str) -> float:
    """How well points of the set ``outside`` are told from those of ``test``."""
    said = [given[name].predicted for name in ("outside", TEST)]
    question = registered.ORDERS["msp" if any(of.score is None for of in said) else "score"]
    positive, negative = (np.full((1, 1), nan) if (x := question(of)) is None else x for of in said)
    return float(detection(positive, negative)[measure][0])


OWN: Mapping[str, tuple[Callable[[Given], float], Literal["max", "min"], str]] = {
    "crps": (
        crps,
        "min",
        "continuous ranked probability score of a normal, of members, or of samples",
    ),
    "quantile_loss": (quantile_loss, "min", "quantile (pinball) loss, mean over the levels"),
    "aupr": (partial(told, measure="aupr"), "max", "average precision for telling other inputs"),
    "fpr95": (
        partial(told, measure="fpr95"),
        "min",
        "share of test inputs taken for others where 95 % of these are found",
    ),
}
"""Scores that no run has."""
