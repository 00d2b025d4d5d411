"""Whether Markov chains agree: split-R̂ and effective sample sizes (Vehtari et al. 2021).

Draws are ``[chains, draws, ...]``; every further index is a quantity by itself. Chains are split in
halves and replaced by normal scores of their ranks, so that none of this needs moments of the
draws. Each number has two parts: one is about where chains lie, the other about how wide they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Draws = NDArray[np.float64]
TAILS = (0.05, 0.95)
"""Quantiles whose estimates the effective sample size of the tails is about."""


def r_hat(draws: Draws) -> NDArray[np.float64]:
    """Split-R̂ ``[...]``: 1 where all halves of the chains have one distribution.

    The larger one of the draws and of their distances from the median (folded), which sees chains
    that agree in location and not in scale: equations 1 to 4 and section 4.1.
    """
    split = halves(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.maximum(_r_hat(normal_scores(split)), _r_hat(normal_scores(folded)))


def bulk_ess(draws: Draws) -> NDArray[np.float64]:
    """Independent draws that would give the center as precisely, ``[...]``."""
    return _effective(normal_scores(halves(draws)))


def tail_ess(draws: Draws) -> NDArray[np.float64]:
    """Independent draws that would give the 5 % and 95 % quantiles as precisely, the smaller."""
    split = halves(draws)
    ends = np.quantile(split, TAILS, axis=(0, 1))
    return np.minimum(*(_effective((split <= end).astype(np.float64)) for end in ends))


def halves(draws: Draws) -> Draws:
    """Each chain as two, ``[2 · chains, draws // 2, ...]``; an odd one out is dropped."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, half : 2 * half]])


def normal_scores(draws: Draws) -> Draws:
    """Normal quantiles of the draws' ranks among all chains, ties at their mean."""
    flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
    ranks = rankdata(flat, axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(draws.shape))


def _r_hat(scores: Draws) -> NDArray[np.float64]:
    length = scores.shape[1]
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    between = scores.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((length - 1) / length + between / within))


def _effective(split: Draws) -> NDArray[np.float64]:
    """The effective sample size of the mean of split chains.

    Autocorrelations are summed in pairs as long as those are positive, each no larger than the one
    before (Geyer 1992); of the pair after them the first counts where it is positive. It may exceed
    the number of draws, of chains that swing about the mean: at most ``log10`` of it times
    (Vehtari et al. 2021). Constant draws give all of them.
    """
    chains, length = split.shape[:2]
    means = split.mean(axis=1)
    within = split.var(axis=1, ddof=1).mean(axis=0)
    variance = (length - 1) / length * within + means.var(axis=0, ddof=1)
    transformed = np.fft.rfft(split - means[:, None], n=2 * length, axis=1)
    covariance = np.fft.irfft(np.abs(transformed) ** 2, axis=1)[:, :length].mean(axis=0) / length
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1 - (within - covariance) / variance
    correlation = np.where(variance > 0, correlation, 0.0)
    correlation[0] = 1.0
    count = (length - 1) // 2
    pairs = correlation[: 2 * count].reshape(count, 2, *correlation.shape[1:])
    sums = pairs.sum(axis=1)
    positive = np.logical_and.accumulate(sums > 0, axis=0)
    positive[-1] = False
    kept = np.where(positive, np.minimum.accumulate(sums, axis=0), 0.0)
    after = np.take_along_axis(pairs[:, 0], positive.sum(axis=0, keepdims=True), axis=0)[0]
    time = 2 * kept.sum(axis=0) - 1 + np.maximum(after, 0.0)
    return np.asarray(chains * length / np.maximum(time, 1 / np.log10(chains * length)))
