"""How good a stated uncertainty is: an agent's intervals for Q*, scored against the exact Q*.

Scores are those of the forecasting literature (Gneiting & Raftery 2007, "Strictly proper scoring
rules, prediction, and estimation"; Gneiting, Balabdaoui & Raftery 2007, "Probabilistic forecasts,
calibration and sharpness"). An average over states and actions says how an agent does on the whole
problem, not where it is visited most: epistemic uncertainty is about what was *not* seen.

Shapes: ``L`` lanes, ``M`` states, ``A`` actions, ``S`` posterior samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist

import torch
from torch import Tensor

from uqbench.agent import Uncertainty

LEVELS = (0.50, 0.90, 0.95)
"""Of the central intervals whose coverage is recorded."""
SHARPNESS_LEVEL = 0.95
"""Of the interval whose width and interval score are recorded."""
PREFIX = "uncertainty/"


def score_uncertainty(stated: Uncertainty, optimal_q: Tensor) -> Mapping[str, Tensor]:
    """Scores ``[L]`` by name, of what an agent states about Q* where it is known.

    - ``uncertainty/coverage_50``, ``_90``, ``_95``: share of the (s, a) whose Q* lies in the
      central interval of that level; a calibrated posterior has 0.5, 0.9, 0.95.
    - ``uncertainty/width_95``: mean width of the 95 % intervals (sharpness), in units of return.
    - ``uncertainty/interval_score_95``: mean of :func:`interval_score`; lower is better, and least
      in expectation for the true quantiles.
    - ``uncertainty/error``: root mean squared error of the stated mean.
    - ``uncertainty/variance_ratio``: geometric mean of stated over reference variance.
    - ``uncertainty/bound_share``: share of the (s, a) where the stated variance is at least the
      reference: one where it is a bound.

    What an agent does not state has no score: intervals need posterior samples, or a mean and a
    variance, which stand for a normal distribution; the last two need an ``oracle_var``.

    Args:
        stated: about the M states, ``[L, M, A]``.
        optimal_q: Q*, ``[M, A]`` float64; NaN where an action is not available, or not known.
    """
    known = ~optimal_q.isnan()
    truth = optimal_q.nan_to_num()
    scores = {}
    for level in LEVELS:
        interval = central_interval(stated, level)
        if interval is not None:
            low, high = interval
            name = f"{PREFIX}coverage_{round(100 * level)}"
            scores[name] = _mean(((low <= truth) & (truth <= high)).double(), known)
    interval = central_interval(stated, SHARPNESS_LEVEL)
    if interval is not None:
        low, high = interval
        percent = round(100 * SHARPNESS_LEVEL)
        scores[f"{PREFIX}width_{percent}"] = _mean(high - low, known)
        scores[f"{PREFIX}interval_score_{percent}"] = _mean(
            interval_score(low, high, truth, SHARPNESS_LEVEL), known
        )
    if stated.mean is not None:
        scores[f"{PREFIX}error"] = _mean((stated.mean.double() - truth) ** 2, known).sqrt()
    if stated.epistemic_var is not None and stated.oracle_var is not None:
        ratio = stated.epistemic_var.double().log() - stated.oracle_var.double().log()
        scores[f"{PREFIX}variance_ratio"] = _mean(ratio, known).exp()
        scores[f"{PREFIX}bound_share"] = _mean((ratio >= 0).double(), known)
    return scores


def score_return_law(stated: Uncertainty, atoms: Tensor, probs: Tensor) -> Mapping[str, Tensor]:
    """``uncertainty/wasserstein``, ``[L]``: :func:`wasserstein` to the law of the return.

    In units of return, averaged over states and actions. Where an agent states no law of the
    return, its posterior samples of Q count as one, which they are when it takes them for it;
    without either there is no score.

    Args:
        stated: about the M states, ``[L, M, A, ...]``.
        atoms: of the true law, ``[M, A, N]`` float64.
        probs: their probabilities, ``[M, A, N]`` float64.
    """
    if stated.return_atoms is not None and stated.return_probs is not None:
        own, mass = stated.return_atoms.double(), stated.return_probs.double()
    elif stated.value_samples is not None:
        own = stated.value_samples.double()
        mass = torch.full_like(own, 1 / own.shape[-1])
    else:
        return {}
    lanes = (len(own), *atoms.shape)
    distance = wasserstein(own, mass, atoms.expand(lanes), probs.expand(lanes))
    return {f"{PREFIX}wasserstein": distance.flatten(1).mean(1)}


def wasserstein(atoms: Tensor, probs: Tensor, others: Tensor, other_probs: Tensor) -> Tensor:
    """The 1-Wasserstein distance ``∫ |F(z) − G(z)| dz`` of two laws with atoms ``[..., N]``.

    Their numbers of atoms may differ; the distance is in the atoms' units, ``[...]``.
    """
    merged, order = torch.cat([atoms, others], -1).sort(-1)
    mass = torch.cat([probs, -other_probs], -1).gather(-1, order)
    return (mass.cumsum(-1)[..., :-1].abs() * merged.diff(dim=-1)).sum(-1)


def central_interval(stated: Uncertainty, level: float) -> tuple[Tensor, Tensor] | None:
    """The stated central interval of probability ``level``, each end ``[L, M, A]`` float64.

    Posterior samples go before a mean and a variance, which stand for a normal distribution. None
    where neither is stated.
    """
    tail = (1 - level) / 2
    if stated.value_samples is not None:
        ordered = stated.value_samples.double().sort(-1).values
        return sample_quantile(ordered, tail), sample_quantile(ordered, 1 - tail)
    if stated.mean is not None and stated.epistemic_var is not None:
        reach = NormalDist().inv_cdf(1 - tail) * stated.epistemic_var.double().sqrt()
        return stated.mean.double() - reach, stated.mean.double() + reach
    return None


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
