"""Scores of predictive uncertainty."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uqbench_compare.predictions.detection import detection, rank_correlation, retention_auc


def test_detection_is_by_hand_on_four_points():
    positive, negative = np.array([[3.0, 1.0]]), np.array([[2.0, 0.0]])
    scores = detection(positive, negative)
    assert scores["auroc"].item() == 0.75  # three of the four pairs
    # recall ½ at precision 1, recall 1 at precision ⅔
    assert scores["aupr"].item() == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert scores["fpr95"].item() == 0.5


@pytest.mark.parametrize(("positives", "negatives"), [(3, 3), (50, 50), (10, 990)])
def test_a_detector_that_says_nothing_is_at_chance(positives, negatives):
    """½; the share of positives (the trapezoid had .75 at a half, .505 at .01); and all or none."""
    scores = detection(np.zeros((1, positives)), np.zeros((1, negatives)))
    assert scores["auroc"].item() == 0.5
    assert scores["aupr"].item() == pytest.approx(positives / (positives + negatives))
    assert scores["fpr95"].item() == 1


def test_where_a_class_is_absent_there_is_nothing_to_tell_apart():
    for positives, negatives in ((0, 5), (5, 0)):
        found = detection(np.zeros((1, positives)), np.zeros((1, negatives)))
        assert all(np.isnan(value).all() for value in found.values())
    known = detection(np.array([[1.0, np.nan]]), np.array([[0.0, 2.0]]))
    assert all(np.isnan(value).all() for value in known.values())


def test_ninety_five_percent_is_at_least_that_and_no_threshold_is_left_out():
    """Of ten positives nine are .9, so that all ten count: the tenth is below 30 of 100 negatives.

    Of twenty 19 are .95: the twentieth, below all negatives, need not be found. Scikit-learn leaves
    out thresholds between collinear points of the curve, where the least of these may be.
    """
    negative = np.arange(100.0)[None]
    ten = np.array([[200.0] * 9 + [69.5]])
    assert detection(ten, negative)["fpr95"].item() == pytest.approx(0.30)
    twenty = np.append(np.arange(200.0, 219.0), -1.0)[None]
    assert detection(twenty, negative)["fpr95"].item() == 0
    generator = np.random.default_rng(0)
    for _ in range(50):
        positive, negative = generator.normal(1, 1, 30), generator.normal(size=300)
        thresholds = [(negative >= at).mean() for at in positive if (positive >= at).mean() >= 0.95]
        found = detection(positive[None], negative[None])["fpr95"].item()
        assert found == pytest.approx(min(thresholds))


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_the_area_is_the_share_of_pairs_in_order_and_half_of_the_ties(digits):
    """By counting each pair, in scores of float32 with many ties, some and none."""
    generator = np.random.default_rng(digits)
    for seen in (3, 40):
        above, below = generator.normal(1, 1, seen), generator.normal(size=100)
        above, below = (np.float32(np.round(own, digits)) for own in (above, below))
        ordered = (above[:, None] > below).sum() + (above[:, None] == below).sum() / 2
        found = detection(above[None], below[None])["auroc"].item()
        assert found == pytest.approx(ordered / (seen * 100), abs=1e-15)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), points=st.integers(2, 6))
def test_within_a_tie_the_area_is_the_mean_over_all_orders(seed, points):
    """By enumeration of the orders that the uncertainty allows."""
    generator = np.random.default_rng(seed)
    uncertainty, right = generator.integers(3, size=points), generator.integers(2, size=points)
    areas = []
    for order in map(list, permutations(range(points))):
        ordered = uncertainty[order]
        if (np.diff(ordered) >= 0).all():
            areas.append((right[order].cumsum() / np.arange(1, points + 1)).mean())
    found = retention_auc(uncertainty[None], right[None]).item()
    assert found == pytest.approx(sum(areas) / len(areas))


def test_the_retention_curve_is_the_accuracy_of_the_most_certain():
    uncertainty = np.array([[0.1, 0.4, 0.2, 0.3]])
    right = np.array([[True, False, True, False]])
    expected = (1 + 1 + 2 / 3 + 2 / 4) / 4
    assert retention_auc(uncertainty, right).item() == pytest.approx(expected)


def test_rank_correlation_sees_the_order_alone():
    truth_ = np.array([[0.1, 0.2, 0.9, 5.0]] * 3)
    predicted = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert rank_correlation(predicted, truth_).tolist() == pytest.approx([1, -1, 0])
    assert np.isnan(rank_correlation(predicted, np.ones((3, 4)))).all()
