"""Scores of predictive uncertainty, one number per lane; by scikit-learn and scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score, roc_curve
from torch import Tensor

Columns = NDArray[np.float64]
Measure = Callable[[NDArray[np.int64], Columns], float]
"""From labels, 1 for positives, and scores to a number."""


def detection(positive: Tensor, negative: Tensor) -> dict[str, Tensor]:
    """How well a score separates positives ``[L, P]`` from negatives ``[L, N]``, as in Tables 1, 2.

    Returns:
        ``auroc``; ``aupr``, the trapezoid under the precision-recall curve; ``fpr95``, the false
        positive rate where the true positive rate is closest to 0.95. ``[L]`` each.
    """
    measures: dict[str, Measure] = {"auroc": roc_auc_score, "aupr": _aupr, "fpr95": _fpr95}
    scores: dict[str, list[float]] = {name: [] for name in measures}
    for above, below in zip(positive.double().numpy(), negative.double().numpy(), strict=True):
        labels = np.repeat(np.array([1, 0]), [len(above), len(below)])
        for name, measure in measures.items():
            scores[name].append(float(measure(labels, np.concatenate([above, below]))))
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in scores.items()}


def retention_auc(uncertainty: Tensor, correct: Tensor) -> Tensor:
    """Area under the accuracy on the k most certain points, over k/M: ``[L, M]`` twice → ``[L]``.

    Selective prediction (section 4.2). The mean over k = 1 … M; ties are kept in the order of the
    input.
    """
    order = uncertainty.argsort(dim=-1, stable=True)
    kept = correct.double().gather(-1, order).cumsum(-1)
    counts = torch.arange(1, correct.shape[-1] + 1, dtype=torch.float64)
    return (kept / counts).mean(-1)


def rank_correlation(predicted: Tensor, truth: Tensor) -> Tensor:
    """Spearman's, ``[L, M]`` twice → ``[L]``; zero where one of them is constant."""
    lanes = zip(predicted.double().numpy(), truth.double().numpy(), strict=True)
    return torch.tensor([_spearman(a, b) for a, b in lanes], dtype=torch.float64)


def _spearman(predicted: Columns, truth: Columns) -> float:
    if np.ptp(predicted) == 0 or np.ptp(truth) == 0:
        return 0.0
    return float(spearmanr(predicted, truth).statistic)


def _aupr(labels: NDArray[np.int64], score: Columns) -> float:
    precision, recall, _ = precision_recall_curve(labels, score)
    return float(auc(recall, precision))


def _fpr95(labels: NDArray[np.int64], score: Columns) -> float:
    false_rate, true_rate, _ = roc_curve(labels, score)
    return float(false_rate[np.abs(true_rate - 0.95).argmin()])
