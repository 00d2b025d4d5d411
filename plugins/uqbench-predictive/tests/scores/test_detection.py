"""Scores of predictive uncertainty."""

from __future__ import annotations

import pytest
import torch
from uqbench_predictive.scores.detection import detection, rank_correlation, retention_auc


def test_detection_is_by_hand_on_four_points():
    positive, negative = torch.tensor([[3.0, 1.0]]), torch.tensor([[2.0, 0.0]])
    scores = detection(positive, negative)
    assert scores["auroc"].item() == 0.75  # three of the four pairs
    # recall ½ at precision 1, recall 1 at precision ⅔: trapezoids ½ · 1 and ½ · (½ + ⅔)/2
    assert scores["aupr"].item() == pytest.approx(0.5 + 0.5 * (0.5 + 2 / 3) / 2)
    assert scores["fpr95"].item() == 0.5
    ties = detection(torch.zeros(1, 3), torch.zeros(1, 3))
    assert ties["auroc"].item() == 0.5


def test_the_retention_curve_is_the_accuracy_of_the_most_certain():
    uncertainty = torch.tensor([[0.1, 0.4, 0.2, 0.3]])
    right = torch.tensor([[True, False, True, False]])
    expected = (1 + 1 + 2 / 3 + 2 / 4) / 4
    assert retention_auc(uncertainty, right).item() == pytest.approx(expected)


def test_rank_correlation_sees_the_order_alone():
    truth_ = torch.tensor([[0.1, 0.2, 0.9, 5.0]] * 3)
    predicted = torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert rank_correlation(predicted, truth_).tolist() == pytest.approx([1, -1, 0])
