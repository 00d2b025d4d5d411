"""How good a predicted epistemic uncertainty is: does it know its own errors?

Shapes: ``K`` predictions; everything float64. ``error`` is the predicted mean of Q minus ``Q^π``;
where ``Q^π`` itself is known with a standard error, its square is ``noise``.
"""

from __future__ import annotations

from statistics import NormalDist

import torch
from torch import Tensor

ENCE_BINS = 10
SPARSIFICATION_STEPS = 20
"""Shares 0, 1/20, …, 19/20 of the predictions are left out."""


def coverage_ceiling(level: float, samples: int | None) -> float:
    """The most that a central interval of ``level`` can cover, made of that many samples.

    Another draw of the same distribution lies outside of S samples with probability
    ``2 / (S + 1)``: ten heads cover 82 %, whatever they state.
    """
    return level if samples is None else min(level, (samples - 1) / (samples + 1))


def widened(low: Tensor, high: Tensor, noise: Tensor, level: float) -> tuple[Tensor, Tensor]:
    """Intervals of ``level`` for an estimate of the truth, whose squared standard error is known.

    Half-widths ``h`` become ``√(h² + z² noise)``: exact for normal predictions. Without it, a noisy
    truth would lie outside of right intervals too often.
    """
    center = 0.5 * (low + high)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    half = ((high - center).square() + z**2 * noise).sqrt()
    return center - half, center + half


def best_constant_half_width(error: Tensor, level: float) -> float:
    """The half-width ``c`` for which ``mean ± c`` has the least mean interval score.

    It is the ``level`` quantile of the absolute errors (Gneiting & Raftery 2007, section 6.2).
    """
    return float(torch.quantile(error.abs(), level, interpolation="higher"))


def rank_correlation(x: Tensor, y: Tensor) -> float:
    """Spearman's rank correlation, ties at their mean rank; NaN where one is constant."""
    return float(torch.corrcoef(torch.stack([_ranks(x), _ranks(y)]))[0, 1])


def sparsification(std: Tensor, error: Tensor) -> Tensor:
    """Mean absolute error of what is left when the most uncertain are left out, ``[20]``.

    Ilg et al. 2018, "Uncertainty estimates and multi-hypotheses networks". Equal uncertainties
    are in a random order, on average: each has their mean error.
    """
    values, tie = std.unique(return_inverse=True)
    sums = torch.zeros_like(values).index_add(0, tie, error.abs())
    mean = (sums / tie.bincount())[tie]
    kept = mean[std.argsort(stable=True)].cumsum(0)  # the most certain first
    share = torch.arange(SPARSIFICATION_STEPS, dtype=torch.float64) / SPARSIFICATION_STEPS
    count = (len(std) * (1 - share)).ceil().long().clamp(min=1).to(std.device)
    curve: Tensor = kept[count - 1] / count
    return curve


def ause(std: Tensor, error: Tensor) -> float:
    """Area under the sparsification error, over that of a constant uncertainty.

    0 where the uncertainties have the order of the errors, 1 where they know nothing of it (as any
    constant), above 1 where they mislead; NaN where all errors are equal.
    """
    best = sparsification(error.abs(), error)
    constant = sparsification(torch.zeros_like(std), error)
    return float((sparsification(std, error) - best).sum() / (constant - best).sum())


def ence(std: Tensor, error: Tensor, noise: Tensor) -> float:
    """Expected normalized calibration error (Levi et al. 2022, equation 9).

    In each of ten bins of similar uncertainty, the distance of the root mean square error from the
    root mean variance, over the latter. The truth's noise is subtracted from squared errors.
    """
    order = std.argsort(stable=True)
    gaps = []
    for part in torch.tensor_split(order, min(ENCE_BINS, len(std))):
        predicted = std[part].square().mean().sqrt()
        squared = (error[part].square() - noise[part]).mean()
        gaps.append((squared.clamp(min=0).sqrt() - predicted).abs() / predicted)
    return float(torch.stack(gaps).mean())


def auroc(positive: Tensor, negative: Tensor) -> float:
    """Probability that a positive is above a negative, ties one half (Mann & Whitney 1947)."""
    ranks = _ranks(torch.cat([positive, negative]))[: len(positive)]
    n = len(positive)
    return float((ranks.sum() - n * (n + 1) / 2) / (n * len(negative)))


def _ranks(x: Tensor) -> Tensor:
    """Ranks from 1 on, ties at their mean, ``[K]`` float64."""
    _, tie, count = x.unique(return_inverse=True, return_counts=True)
    last = count.cumsum(0).double()
    ranks: Tensor = (last - (count.double() - 1) / 2)[tie]
    return ranks
