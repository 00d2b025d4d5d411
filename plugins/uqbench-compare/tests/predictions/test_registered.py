"""Registered scores: by hand, against other packages, and of planted predictions; detection.

Of other packages that are not installed the tests are left out.
"""

from dataclasses import replace
from itertools import permutations
from math import isnan, log, nan, pi

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from scipy.special import entr, softmax
from uqbench_compare.predictions import registered
from uqbench_compare.predictions.detection import detection, rank_correlation, retention_auc

import uqbench
from uqbench.estimator import Predictions, PredictiveUncertainty

GENERATOR = np.random.default_rng(0)


def classes(probs, targets, **further) -> dict[str, Predictions]:
    probs = np.asarray(probs, float)[None]
    own = entr(probs).sum(-1)
    said = PredictiveUncertainty(own, own, 0 * own, probs, "nats", **further)
    return {"test": Predictions(said, np.asarray(targets)[None])}


def values(mean, variance, targets, **further) -> dict[str, Predictions]:
    mean = np.asarray(mean, float)[None]
    total = np.broadcast_to(np.asarray(variance, float), mean.shape)
    said = PredictiveUncertainty(total, total, 0 * total, None, "variance", mean=mean, **further)
    return {"test": Predictions(said, np.asarray(targets, float)[None])}


PROBS = softmax(GENERATOR.normal(size=(5_000, 4)), -1)
DRAWN = (PROBS.cumsum(-1)[:, :-1] < GENERATOR.random((5_000, 1))).sum(-1)


def test_the_risk_of_the_most_certain_is_by_hand():
    given = classes([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]], [0, 1, 0, 1])
    assert registered.aurc(given) == pytest.approx((0 + 0 + 1 / 3 + 2 / 4) / 4)
    line = values([0.0, 0.0], [2.0, 1.0], [3.0, 1.0])  # the second is more certain
    assert registered.aurc(line) == pytest.approx((1 + (1 + 9) / 2) / 2)


@pytest.mark.parametrize(("count", "expected"), [(150, 0.119), (500, 0.069), (2_000, 0.034)])
def test_the_calibration_error_of_a_calibrated_method_is_as_large_as_is_said(count, expected):
    """``√(30 v/(π n))``, v = .24: confidences around .6, none equal. The mean of 100 samples has a
    standard error of a fiftieth of it, so that 10 % are five of them: an error rate below 1e-6."""
    g, found = np.random.default_rng(count), 0.0
    for _ in range(100):
        top = 0.6 + 1e-3 * g.random(count)
        right = g.random(count) < top
        found += registered.ece(classes(np.stack([top, 1 - top], -1), 1 - right)) / 100
    assert found == pytest.approx(expected, rel=0.1)
    assert (30 * 0.24 / (pi * count)) ** 0.5 == pytest.approx(expected, rel=0.05)


def test_of_equally_probable_classes_each_is_in_the_set_by_its_part():
    """Nine of ten are needed, whichever: .9 of each, not the first nine."""
    given = classes([[0.1] * 10] * 10, range(10))
    assert registered.coverage_90(given) == pytest.approx(0.9)
    assert registered.width_90(given) == pytest.approx(9)
    assert registered.coverage_90(classes([[0.1] * 10] * 10, [9] * 10)) == pytest.approx(0.9)
    assert registered.coverage_90(classes([[0.8, 0.1, 0.1]], [2])) == pytest.approx(0.5)


def test_brier_and_sets_of_the_most_probable_classes_or_those_that_are_stated():
    given = classes([[0.5, 0.3, 0.2], [0.95, 0.04, 0.01]], [2, 1])
    squares = [0.5**2 + 0.3**2 + 0.8**2, 0.95**2 + 0.96**2 + 0.01**2]
    assert registered.brier(given) == pytest.approx(sum(squares) / 2)
    assert registered.width_90(given) == pytest.approx((3 + 1) / 2)
    assert registered.coverage_90(given) == 0.5
    stated = np.array([[[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
    said = classes([[0.5, 0.3, 0.2], [0.95, 0.04, 0.01]], [2, 1], classes=stated)
    assert (registered.coverage_90(said), registered.width_90(said)) == (1, 1.5)


def test_a_normals_interval_covers_nine_in_ten():
    """20,000 draws: the standard error is 0.002."""
    y = 2 * GENERATOR.normal(size=20_000) + 1
    given = values(np.ones(20_000), 4.0, y)
    assert registered.coverage_90(given) == pytest.approx(0.9, abs=0.01)
    assert registered.width_90(given) == pytest.approx(2 * 1.645 * 2, rel=1e-3)
    assert registered.nll(given) == pytest.approx(0.5 * (log(2 * pi * 4) + 1), abs=0.03)
    stated = np.broadcast_to([-1e9, 1e9], (1, 20_000, 2))
    assert registered.coverage_90(values(np.ones(20_000), 4.0, y, interval=stated)) == 1


def test_the_crps_of_a_normal_is_that_of_a_sample_of_it():
    """``E|X − y| − ½ E|X − X'|`` with 200,000 draws: to about 0.005."""
    x = 1.5 * GENERATOR.normal(size=(2, 200_000)) + 0.3
    for y in (-1.0, 0.3, 4.0):
        sampled = abs(x[0] - y).mean() - 0.5 * abs(x[0] - x[1]).mean()
        assert registered.crps(values([0.3], 2.25, [y])) == pytest.approx(sampled, abs=0.01)


def test_models_that_agree_among_points_are_worth_more_together():
    """Two coins, both heads or both tails always: ten points cost log 2 once, not ten times."""
    sure = np.array([[1.0 - 1e-9, 1e-9], [1e-9, 1.0 - 1e-9]])
    members = np.broadcast_to(sure[:, None, None], (2, 1, 20, 2))
    targets = [0] * 10 + [1] * 10
    given = classes([[0.5, 0.5]] * 20, targets, members=members)
    assert registered.joint_nll(given) == pytest.approx(log(2) / 10, rel=1e-6)
    assert registered.joint_nll(classes([[0.5, 0.5]] * 20, targets)) == pytest.approx(log(2))
    means = np.broadcast_to(np.array([-1.0, 1.0])[:, None, None, None], (2, 1, 10, 1))
    line = values([0.0] * 10, 1.0, [1.0] * 10, members=means)
    assert registered.joint_nll(line) == pytest.approx(0.5 * log(2 * pi) + log(2) / 10, rel=1e-6)


def test_models_of_values_without_noise_have_no_joint_likelihood():
    """Twenty means that are the law itself: a density of each would be infinite at one value."""
    means = GENERATOR.normal(size=(20, 1, 10, 1))
    line = values(means.mean((0, 1, 3)), 1.0, [0.0] * 10, members=means)
    said = line["test"].predicted
    none = replace(said, aleatoric=0 * said.total, epistemic=said.total)
    assert isnan(registered.joint_nll({"test": replace(line["test"], predicted=none)}))
    assert not isnan(registered.joint_nll(line))


def test_a_score_that_does_not_apply_is_no_number():
    line, coin = values([0.0], 1.0, [0.0]), classes([[0.5, 0.5]], [0])
    assert all(isnan(getattr(registered, n)(line)) for n in ("brier", "ece", "accuracy", "auroc"))
    none = ("rmse", "crps", "corrupted_nll", "corrupted_ece", "shifted_nll", "nll_5")
    assert all(isnan(getattr(registered, n)(coin)) for n in none)
    no_mean = PredictiveUncertainty(*[np.ones((1, 3))] * 3, None, "variance")
    given = {"test": Predictions(no_mean, np.zeros((1, 3)))}
    assert isnan(registered.nll(given))
    assert isnan(registered.coverage_90(given))
    assert nan is registered.aurc(given)


def test_sets_of_other_inputs_are_told_from_the_test_set_by_their_novelty():
    given = classes([[0.5, 0.5]] * 4, [0] * 4, score=np.array([[0.0, 1.0, 2.0, 3.0]]))
    other = classes([[0.5, 0.5]] * 2, [0] * 2, score=np.array([[2.5, 9.0]]))
    assert registered.auroc({**given, "outside": other["test"]}) == pytest.approx(7 / 8)
    assert registered.far_score({**given, "far": other["test"]}) == pytest.approx(7 / 8)
    assert registered.far_score_gain({**given, "far": other["test"]}) == pytest.approx(3 / 8)


def test_each_question_orders_inputs_by_a_number_of_its_own():
    """The other input is the surest by its largest probability, and the likeliest to be other
    by the disagreement of models and by the energy."""
    probs = np.array([[[0.5, 0.5], [0.6, 0.4], [0.9, 0.1]]])
    own, disagreement = entr(probs).sum(-1), np.array([[0.0, 0.1, 0.3]])
    said = PredictiveUncertainty(own, own - disagreement, disagreement, probs, "nats",
                                 energy=np.array([[-5.0, -4.0, 1.0]]))  # fmt: skip
    one = lambda s: replace(said, **{  # noqa: E731
        n: None if x is None else x[:, s] for n, x in vars(said).items() if n != "unit"
    })  # fmt: skip
    given = {"test": Predictions(one(slice(0, 2))), "near": Predictions(one(slice(2, 3)))}
    assert registered.near_msp(given) == registered.near_entropy(given) == 0
    assert isnan(registered.near_score(given))
    assert registered.near_energy_gain(given) == 1
    assert registered.near_mi(given) == registered.near_energy(given) == 1
    scored = {n: Predictions(replace(p.predicted, score=p.predicted.energy, energy=None))
              for n, p in given.items()}  # fmt: skip
    assert registered.near_score(scored) == registered.near_score_gain(scored) == 1
    assert isnan(registered.near_energy(scored))
    assert isnan(registered.far_mi(given))


def test_scores_of_a_shift_are_those_of_its_strengths_and_their_mean():
    """At strength k the class has the probability 1/k: right at the first, and then no more."""
    sets = {}
    for k in range(1, 6):
        other = (1 - 1 / k) / 2
        probs = [[1 / k, other + 1e-6, other - 1e-6]] * 4 if k > 2 else [[1 / k, 1 - 1 / k, 0]] * 4
        sets[f"strength-{k}"] = classes(probs, [0] * 4)["test"]
    for k in range(1, 6):
        assert getattr(registered, f"nll_{k}")(sets) == pytest.approx(log(k))
    assert registered.shifted_nll(sets) == pytest.approx(log(120) / 5)
    assert registered.shifted_accuracy(sets) == pytest.approx(1.5 / 5)  # a tie at the second
    gaps = [0, 0, 1 / 3, 3 / 8, 2 / 5]
    assert registered.shifted_ece(sets) == pytest.approx(sum(gaps) / 5, abs=1e-5)


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
    negative, ten = np.arange(100.0)[None], np.array([[200.0] * 9 + [69.5]])
    assert detection(ten, negative)["fpr95"].item() == pytest.approx(0.30)
    assert detection(np.append(np.arange(200.0, 219.0), -1.0)[None], negative)["fpr95"].item() == 0
    generator = np.random.default_rng(0)
    for _ in range(50):
        positive, negative = generator.normal(1, 1, 30), generator.normal(size=300)
        thresholds = [(negative >= at).mean() for at in positive if (positive >= at).mean() >= 0.95]
        found = detection(positive[None], negative[None])["fpr95"].item()
        assert found == pytest.approx(min(thresholds))


@settings(max_examples=25, deadline=None, derandomize=True)
@drawn(seed=st.integers(0, 2**32 - 1), points=st.integers(2, 6))
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


def test_rank_correlation_sees_the_order_alone():
    truth_ = np.array([[0.1, 0.2, 0.9, 5.0]] * 3)
    predicted = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert rank_correlation(predicted, truth_).tolist() == pytest.approx([1, -1, 0])
    assert np.isnan(rank_correlation(predicted, np.ones((3, 4)))).all()


M = 120


def statements():
    """Means and deviations of values, and what was seen."""
    generator = np.random.default_rng(1)
    mean, std = generator.normal(size=M), generator.uniform(0.5, 2, M)
    return mean, std, mean + std * generator.normal(size=M)


def test_classes_score_as_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    probs, targets = PROBS[:M], DRAWN[:M]
    rows = uqbench.score(probs=probs, targets=targets)["value"]
    assert rows["nll"] == pytest.approx(metrics.log_loss(targets, probs), abs=1e-9)
    assert rows["accuracy"] == metrics.accuracy_score(targets, probs.argmax(1))
    binary = uqbench.score(probs=probs[:, 0], targets=targets == 0)["value"]
    half = metrics.brier_score_loss(targets == 0, probs[:, 0])
    assert binary["brier"] == pytest.approx(2 * half, abs=1e-9)


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_detectors_score_as_scikit_learn_says(digits):
    """In scores of float32 with many ties, some and none."""
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(2)
    drawn = generator.normal(size=M), generator.normal(1, 1, 50)
    inside, outside = (np.float32(np.round(of, digits)) for of in drawn)
    rows = uqbench.score(score=inside, outside_score=outside)["value"]
    every, is_outside = np.concatenate([inside, outside]), np.arange(M + 50) >= M
    assert rows["auroc"] == pytest.approx(metrics.roc_auc_score(is_outside, every), abs=1e-9)
    theirs = metrics.average_precision_score(is_outside, every)
    assert rows["aupr"] == pytest.approx(theirs, abs=1e-9)


def test_values_score_as_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    mean, std, targets = statements()
    levels = np.array([0.05, 0.2, 0.5, 0.95])
    quantiles = mean[:, None] + np.outer(std, [-1.6, -0.8, 0.0, 1.7])
    rows = uqbench.score(quantiles=quantiles, levels=levels, targets=targets)["value"]
    pairs = zip(quantiles.T, levels, strict=True)
    losses = [metrics.mean_pinball_loss(targets, q, alpha=a) for q, a in pairs]
    assert rows["quantile_loss"] == pytest.approx(np.mean(losses), abs=1e-9)
    rmse = uqbench.score(mean=mean, std=std, targets=targets).loc["rmse", "value"]
    assert rmse == pytest.approx(metrics.root_mean_squared_error(targets, mean), abs=1e-9)


def test_values_score_as_scoringrules_says():
    rules = pytest.importorskip("scoringrules")
    mean, std, targets = statements()
    rows = uqbench.score(mean=mean, std=std, targets=targets)["value"]
    assert rows["crps"] == pytest.approx(rules.crps_normal(targets, mean, std).mean(), abs=1e-9)
    assert rows["nll"] == pytest.approx(rules.logs_normal(targets, mean, std).mean(), abs=1e-9)
    drawn = mean + std * np.random.default_rng(3).normal(size=(25, M))
    crps = uqbench.score(samples=drawn, targets=targets).loc["crps", "value"]
    assert crps == pytest.approx(rules.crps_ensemble(targets, drawn.T).mean(), abs=1e-9)
    of_members = uqbench.score(members=drawn, targets=targets).loc["crps", "value"]
    assert of_members == pytest.approx(crps, abs=1e-9)
    ends = np.stack([mean - std, mean + 2 * std], 1)
    found = uqbench.score(interval=ends, targets=targets).loc["interval_score_90", "value"]
    assert found == pytest.approx(rules.interval_score(targets, *ends.T, 0.1).mean(), abs=1e-9)


def test_calibration_errors_of_equal_width_are_netcals():
    netcal = pytest.importorskip("netcal.metrics")
    probs, targets = PROBS[:M], DRAWN[:M]
    for bins in (10, 15, 20):
        rows = uqbench.score(probs=probs, targets=targets, bins=bins)["value"]
        theirs = netcal.ECE(bins).measure(probs, targets)
        assert rows["ece_width"] == pytest.approx(theirs, abs=1e-9)
