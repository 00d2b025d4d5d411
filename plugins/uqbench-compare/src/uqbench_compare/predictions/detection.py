"""Scores of orders of inputs, one number per lane.

Equal numbers are in no order: a score is the mean over all orders of a tie, or sees it whole.
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

Column = NDArray[np.float64]


def detection(positive: ArrayLike, negative: ArrayLike) -> dict[str, Column]:
    """How well a score separates positives ``[L, P]`` from negatives ``[L, N]``, as in Tables 1, 2.

    Returns:
        ``auroc``, 1/2 of a score that is the same everywhere; ``aupr``, the average precision, then
        P/(P + N); ``fpr95``, the least false positive rate whose true positive rate is at least
        0.95, then 1: no other threshold has one. ``[L]`` each; NaN where there are no positives or
        no negatives, and so nothing to tell apart, and of scores that are not finite.
    """
    lanes = zip(np.asarray(positive), np.asarray(negative), strict=True)
    each = [_told(above.astype(float), below.astype(float)) for above, below in lanes]
    return {name: np.array([lane[name] for lane in each]) for name in ("auroc", "aupr", "fpr95")}


def _told(positive: Column, negative: Column) -> dict[str, float]:
    """The measures of one lane, over the thresholds from the highest score on."""
    every = np.concatenate([positive, negative])
    if not (len(positive) and len(negative) and np.isfinite(every).all()):
        return dict.fromkeys(("auroc", "aupr", "fpr95"), nan)
    order = np.argsort(every, kind="stable")[::-1]
    last = np.flatnonzero(np.append(np.diff(every[order]), 1))  # of each tie
    true = np.cumsum(order < len(positive))[last]
    false = 1 + last - true
    recall, alarms = true / len(positive), false / len(negative)
    corner = np.ones(len(last), bool)
    corner[1:-1] = (np.diff(true, 2) != 0) | (np.diff(false, 2) != 0)
    y, x = (np.append(0.0, rate[corner]) for rate in (recall, alarms))
    gained = np.diff(np.append(recall[::-1], 0.0))
    return {
        "auroc": float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum()),
        "aupr": float(-(gained * np.append(true / (1 + last), 1.0)[-2::-1]).sum()),
        "fpr95": float(alarms[(recall >= 0.95).argmax()]),  # the first: rates rise
    }


def retention_auc(uncertainty: ArrayLike, correct: ArrayLike) -> Column:
    """Area under the accuracy on the k most certain points, over k/M: ``[L, M]`` twice → ``[L]``.

    Selective prediction (section 4.2). The mean over k = 1 … M; NaN of an uncertainty that is not
    finite.
    """
    lanes = zip(np.asarray(uncertainty), np.asarray(correct, np.float64), strict=True)
    return np.array([mean_of_most_certain(own, right) for own, right in lanes])


def mean_of_most_certain(uncertainty: Column, values: Column) -> float:
    """Mean over k of the values' mean at the k most certain points, ``[M]`` twice.

    Expected over the orders of points that are equally certain: of g such points after a others the
    j-th has the risk ``(sum of the a + j · mean of the g)/(a + j)``. So a constant has the mean of
    all.
    """
    if not np.isfinite(uncertainty).all():
        return nan
    kept = tie_means(values, uncertainty)[uncertainty.argsort()].cumsum()
    return float((kept / np.arange(1, len(values) + 1)).mean())


def tie_means(values: Column, by: Column) -> Column:
    """Each value's mean over the points at which ``by`` is the same, ``[M]`` twice."""
    _, tie, counts = np.unique(by, return_inverse=True, return_counts=True)
    means: Column = (np.bincount(tie, values) / counts)[tie]
    return means


def rank_correlation(predicted: ArrayLike, truth: ArrayLike) -> Column:
    """Spearman's, ``[L, M]`` twice → ``[L]``.

    Zero where what is predicted is constant, NaN where the truth is, which then has no order, and
    of predictions that are not finite.
    """
    lanes = zip(np.asarray(predicted, float), np.asarray(truth, float), strict=True)
    return np.array([_spearman(a, b) for a, b in lanes])


def _spearman(predicted: Column, truth: Column) -> float:
    if np.ptp(truth) == 0 or not np.isfinite(predicted).all():
        return nan
    if np.ptp(predicted) == 0:
        return 0.0
    return float(spearmanr(predicted, truth).statistic)
