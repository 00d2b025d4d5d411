"""Scores of predictive uncertainty, one number per lane; by scikit-learn and scipy.

Equal numbers are in no order: a score is the mean over all orders of a tie, or sees it whole.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from torch import Tensor

Columns = NDArray[np.float64]
Measure = Callable[[NDArray[np.int64], Columns], float]
"""From labels, 1 for positives, and scores to a number."""


def detection(positive: Tensor, negative: Tensor) -> dict[str, Tensor]:
    """How well a score separates positives ``[L, P]`` from negatives ``[L, N]``, as in Tables 1, 2.

    Returns:
        ``auroc``, 1/2 of a score that is the same everywhere; ``aupr``, the average precision, then
        P/(P + N); ``fpr95``, the least false positive rate whose true positive rate is at least
        0.95, then 1: no other threshold has one. ``[L]`` each; NaN where there are no positives or
        no negatives, and so nothing to tell apart, and of scores that are not finite.
    """
    measures: dict[str, Measure] = {
        "auroc": roc_auc_score, "aupr": average_precision_score, "fpr95": _fpr95,
    }  # fmt: skip
    scores: dict[str, list[float]] = {name: [] for name in measures}
    for above, below in zip(positive.double().numpy(), negative.double().numpy(), strict=True):
        labels = np.repeat(np.array([1, 0]), [len(above), len(below)])
        every = np.concatenate([above, below])
        known = len(above) > 0 and len(below) > 0 and bool(np.isfinite(every).all())
        for name, measure in measures.items():
            scores[name].append(float(measure(labels, every)) if known else nan)
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in scores.items()}


def retention_auc(uncertainty: Tensor, correct: Tensor) -> Tensor:
    """Area under the accuracy on the k most certain points, over k/M: ``[L, M]`` twice → ``[L]``.

    Selective prediction (section 4.2). The mean over k = 1 … M; NaN of an uncertainty that is not
    finite.
    """
    lanes = zip(uncertainty, correct.double(), strict=True)
    areas = [float(mean_of_most_certain(own, right)) for own, right in lanes]
    return torch.tensor(areas, dtype=torch.float64)


def mean_of_most_certain(uncertainty: Tensor, values: Tensor) -> Tensor:
    """Mean over k of the values' mean at the k most certain points, ``[M]`` twice.

    Expected over the orders of points that are equally certain: of g such points after a others the
    j-th has the risk ``(sum of the a + j · mean of the g)/(a + j)``. So a constant has the mean of
    all.
    """
    if not uncertainty.isfinite().all():
        return torch.tensor(nan)
    kept = tie_means(values, uncertainty)[uncertainty.argsort()].cumsum(0)
    area: Tensor = (kept / torch.arange(1, len(values) + 1)).mean()
    return area


def tie_means(values: Tensor, by: Tensor) -> Tensor:
    """Each value's mean over the points at which ``by`` is the same, ``[M]`` twice."""
    _, tie, counts = by.unique(return_inverse=True, return_counts=True)
    sums = torch.zeros(len(counts), dtype=values.dtype).index_add(0, tie, values)
    means: Tensor = (sums / counts)[tie]
    return means


def rank_correlation(predicted: Tensor, truth: Tensor) -> Tensor:
    """Spearman's, ``[L, M]`` twice → ``[L]``.

    Zero where what is predicted is constant, NaN where the truth is, which then has no order, and
    of predictions that are not finite.
    """
    lanes = zip(predicted.double().numpy(), truth.double().numpy(), strict=True)
    return torch.tensor([_spearman(a, b) for a, b in lanes], dtype=torch.float64)


def _spearman(predicted: Columns, truth: Columns) -> float:
    if np.ptp(truth) == 0 or not np.isfinite(predicted).all():
        return nan
    if np.ptp(predicted) == 0:
        return 0.0
    return float(spearmanr(predicted, truth).statistic)


def _fpr95(labels: NDArray[np.int64], score: Columns) -> float:
    false_rate, true_rate, _ = roc_curve(labels, score, drop_intermediate=False)
    return float(false_rate[(true_rate >= 0.95).argmax()])  # the first: rates rise
