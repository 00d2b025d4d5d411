"""Scores of a predicted uncertainty: an agent's intervals for Q*, against the exact Q*.

Scores are those of the forecasting literature (Gneiting & Raftery 2007, "Strictly proper scoring
rules, prediction, and estimation"; Gneiting, Balabdaoui & Raftery 2007, "Probabilistic forecasts,
calibration and sharpness"). An average over states and actions says how an agent does on the whole
problem, not where it is visited most: epistemic uncertainty is about what was *not* seen.

Shapes: ``L`` lanes, ``M`` states, ``A`` actions, ``S`` posterior samples.
"""

import math
from collections.abc import Mapping
from statistics import NormalDist

import torch
from torch import Tensor

from uqbench.contract.agent import Uncertainty
from uqbench.uncertainty.epistemic import reaches
from uqbench.uncertainty.plain import is_valid

LEVELS = (0.50, 0.90, 0.95)
"""Levels of the central intervals whose coverage is recorded."""
SHARPNESS_LEVEL = 0.95
"""The level of the interval whose width and interval score are recorded."""
PREFIX = "uncertainty/"


def score_uncertainty(predicted: Uncertainty, optimal_q: Tensor) -> Mapping[str, Tensor]:
    """Scores ``[L]`` by name, of what an agent predicts about Q* where it is known.

    - ``uncertainty/coverage_50``, ``_90``, ``_95``: share of the (s, a) whose Q* lies in the
      central interval of that level; a calibrated posterior has 0.5, 0.9, 0.95.
    - ``uncertainty/width_95``: mean width of the 95 % intervals (sharpness), in units of return.
    - ``uncertainty/interval_score_95``: mean of :func:`interval_score`; lower is better, and least
      in expectation for the true quantiles.
    - ``uncertainty/error``: root mean squared error of the predicted mean.
    - ``uncertainty/variance_ratio``: geometric mean of predicted over reference variance.
    - ``uncertainty/bound_share``: share of the (s, a) where the predicted variance is at least the
      reference: one where it is a bound.

    What an agent does not predict has no score: intervals need posterior samples, or a mean and a
    variance, which stand for a normal distribution; the last two need an ``oracle_var``. NaN of a
    lane whose statement is invalid.

    Args:
        predicted: for the M states, ``[L, M, A]``.
        optimal_q: Q*, ``[M, A]`` float64; NaN where an action is not available, or not known.
    """
    known = ~optimal_q.isnan()
    truth = optimal_q.nan_to_num()
    scores = {}
    for level in LEVELS:
        interval, percent = central_interval(predicted, level), round(100 * level)
        if interval is None:
            continue
        low, high = interval
        inside = (low <= truth) & (truth <= high)
        scores[f"{PREFIX}coverage_{percent}"] = _mean(inside.double(), known)
        if level == SHARPNESS_LEVEL:
            scores[f"{PREFIX}width_{percent}"] = _mean(high - low, known)
            missed = interval_score(low, high, truth, level)
            scores[f"{PREFIX}interval_score_{percent}"] = _mean(missed, known)
    if predicted.mean is not None:
        scores[f"{PREFIX}error"] = _mean((predicted.mean.double() - truth) ** 2, known).sqrt()
    if predicted.epistemic_var is not None and predicted.oracle_var is not None:
        ratio = predicted.epistemic_var.double().log() - predicted.oracle_var.double().log()
        scores[f"{PREFIX}variance_ratio"] = _mean(ratio, known).exp()
        scores[f"{PREFIX}bound_share"] = _mean((ratio >= 0).double(), known)
    valid = is_valid(predicted, known)
    return {name: score.where(valid, torch.nan) for name, score in scores.items()}


def score_return_distribution(
    predicted: Uncertainty, atoms: Tensor, probs: Tensor
) -> Mapping[str, Tensor]:
    """``uncertainty/wasserstein``, ``[L]``: :func:`wasserstein` to the true return distribution.

    In units of return, averaged over states and actions. Where an agent predicts no return
    distribution, its posterior samples of Q count as one, which they are when it takes them for it;
    without either there is no score.

    Args:
        predicted: for the M states, ``[L, M, A, ...]``.
        atoms: of the true distribution, ``[M, A, N]`` float64.
        probs: their probabilities, ``[M, A, N]`` float64.
    """
    if predicted.return_atoms is not None and predicted.return_probs is not None:
        own, mass = predicted.return_atoms.double(), predicted.return_probs.double()
    elif predicted.value_samples is not None:
        own = predicted.value_samples.double()
        mass = torch.full_like(own, 1 / own.shape[-1])
    else:
        return {}
    lanes = (len(own), *atoms.shape)
    distance = wasserstein(own, mass, atoms.expand(lanes), probs.expand(lanes))
    mean = distance.flatten(1).mean(1)
    return {f"{PREFIX}wasserstein": mean.where(is_valid(predicted), torch.nan)}


def wasserstein(atoms: Tensor, probs: Tensor, others: Tensor, other_probs: Tensor) -> Tensor:
    """The 1-Wasserstein distance ``∫ |F(z) − G(z)| dz`` of two distributions: atoms ``[..., N]``.

    Their numbers of atoms may differ; the distance is in the atoms' units, ``[...]``.
    """
    merged, order = torch.cat([atoms, others], -1).sort(-1)
    mass = torch.cat([probs, -other_probs], -1).gather(-1, order)
    return (mass.cumsum(-1)[..., :-1].abs() * merged.diff(dim=-1)).sum(-1)


def central_interval(predicted: Uncertainty, level: float) -> tuple[Tensor, Tensor] | None:
    """The predicted central interval of probability ``level``, each end ``[L, M, A]`` float64.

    From posterior samples where their extremes lie outside of it; else of a mean and a variance,
    which stand for a normal distribution, the samples' own where only they are predicted. None
    where neither is.

    A variance of few networks is not known: by Student's t (1908) of its ``epistemic_dof``, or of
    S samples' S − 1 (and √(1 + 1/S), since the mean is theirs too), intervals cover what they say.
    """
    tail, samples = (1 - level) / 2, predicted.value_samples
    if samples is not None and reaches(level, samples.shape[-1]):
        ordered = samples.double().sort(-1).values
        return sample_quantile(ordered, tail), sample_quantile(ordered, 1 - tail)
    mean, var = predicted.mean, predicted.epistemic_var
    if samples is not None and (mean is None or var is None):
        mean, var = samples.double().mean(-1), samples.double().var(-1)
    if mean is None or var is None:
        return None
    reach = quantile(predicted, 1 - tail) * var.double().sqrt()
    return mean.double() - reach, mean.double() + reach


def quantile(predicted: Uncertainty, p: float) -> float | Tensor:
    """Quantile of the predicted distribution, in predicted standard deviations from the mean."""
    dof, samples = predicted.epistemic_dof, predicted.value_samples
    if dof is None and samples is None:
        return NormalDist().inv_cdf(p)
    from scipy.special import stdtrit  # where it is needed: it takes a while

    if dof is not None:
        return torch.from_numpy(stdtrit(dof.double().cpu().numpy(), p)).to(dof.device)
    assert samples is not None
    count = samples.shape[-1]
    return float(stdtrit(count - 1, p)) * math.sqrt(1 + 1 / count)


def sample_quantile(ordered: Tensor, p: float) -> Tensor:
    """The quantile at ``p (S + 1)`` of ascending samples ``[*, S]``, ``[*]`` (Weibull 1939).

    Another draw of the same distribution lies below it with probability ``p``, exactly so where
    ``p (S + 1)`` is whole, so that the coverage of a right posterior is not lowered by how few its
    samples are. (The textbook rule ``p (S − 1)`` would cover 89 %, not 95 %, with 32 of them.)
    Ends with fewer than one sample beyond them are the extremes.
    """
    samples = ordered.shape[-1]
    place = min(max(p * (samples + 1) - 1, 0.0), samples - 1.0)
    below = min(int(place), samples - 2) if samples > 1 else 0
    above = min(below + 1, samples - 1)
    return torch.lerp(ordered[..., below], ordered[..., above], place - below)


def interval_score(low: Tensor, high: Tensor, truth: Tensor, level: float) -> Tensor:
    """``(u − l) + 2/α (l − x)⁺ + 2/α (x − u)⁺``, ``α = 1 − level`` (Gneiting & Raftery, eq. 43).

    A proper score: width and misses in one number, in units of return, less is better.
    """
    missed = (low - truth).clamp(min=0) + (truth - high).clamp(min=0)
    return (high - low) + 2 / (1 - level) * missed


def _mean(values: Tensor, known: Tensor) -> Tensor:
    """Mean ``[L]`` of ``[L, M, A]`` over the entries of ``known`` ``[M, A]``."""
    return torch.where(known, values, 0.0).flatten(1).sum(1) / known.sum()
