"""Registered scores: by hand, against scikit-learn, and of planted predictions."""

from dataclasses import replace
from math import isnan, log, nan, pi

import numpy as np
import pytest
from scipy.special import entr, softmax
from uqbench_compare.plugin import SCORES
from uqbench_compare.predictions import registered

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


def test_the_log_likelihood_is_scikit_learns_and_the_brier_score_a_mean_of_squares():
    log_loss = pytest.importorskip("sklearn.metrics").log_loss
    given = classes(PROBS, DRAWN)
    assert registered.nll(given) == pytest.approx(log_loss(DRAWN, PROBS))
    drawn = PROBS, DRAWN
    by_hand = np.mean([((p - np.eye(4)[y]) ** 2).sum() for p, y in zip(*drawn, strict=True)])
    assert registered.brier(given) == pytest.approx(by_hand)
    assert registered.brier(classes(np.eye(4)[DRAWN], DRAWN)) == 0


def test_the_law_itself_is_calibrated_and_what_is_surer_is_not():
    """Of 15 bins of 333 draws each the mean gap is about 0.02."""
    assert registered.ece(classes(PROBS, DRAWN)) < 0.03
    surer = softmax(3 * np.log(PROBS), -1)
    assert registered.ece(classes(surer, DRAWN)) > 0.15
    half = classes([[0.9, 0.1]] * 300, [0, 1] * 150)
    assert registered.ece(half) == pytest.approx(0.4)


@pytest.mark.parametrize("name", ["nll", "brier", "joint_nll"])
def test_the_law_itself_has_the_best_proper_score(name):
    score = getattr(registered, name)
    law = score(classes(PROBS, DRAWN))
    for power in (0.5, 2.0):
        assert law < score(classes(softmax(power * np.log(PROBS), -1), DRAWN))


def test_the_risk_of_the_most_certain_is_by_hand():
    given = classes([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]], [0, 1, 0, 1])
    assert registered.aurc(given) == pytest.approx((0 + 0 + 1 / 3 + 2 / 4) / 4)
    line = values([0.0, 0.0], [2.0, 1.0], [3.0, 1.0])  # the second is more certain
    assert registered.aurc(line) == pytest.approx((1 + (1 + 9) / 2) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_one_statement_for_all_has_one_confidence_and_no_order(seed):
    """Climatology, right in half of 300: |½ − c|, .467 in file order where it should be 0; half."""
    sorted_ = [0] * 150 + [1] * 150
    shuffled = np.random.default_rng(seed).permutation(300)
    targets = np.array(sorted_)[shuffled] if seed else np.array(sorted_)
    half = [[0.5, 0.5]] * 300
    assert registered.ece(classes(half, targets)) == pytest.approx(0)
    assert registered.aurc(classes(half, targets)) == pytest.approx(0.5)
    assert registered.accuracy(classes(half, targets)) == pytest.approx(0.5)
    surer = [[0.7, 0.3]] * 300
    assert registered.ece(classes(surer, targets)) == pytest.approx(0.2)
    assert registered.aurc(classes(surer, targets)) == pytest.approx(0.5)


@pytest.mark.parametrize(("count", "expected"), [(150, 0.119), (500, 0.069), (2_000, 0.034)])
def test_the_calibration_error_of_a_calibrated_method_is_as_large_as_is_said(count, expected):
    """``√(30 v/(π n))``, v = .24: confidences around .6, none equal. The mean of 100 samples has a
    standard error of a fiftieth of it, so that 10 % are five of them: an error rate below 1e-6."""
    g = np.random.default_rng(count)
    found = 0.0
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
    last = classes([[0.1] * 10] * 10, [9] * 10)
    assert registered.coverage_90(last) == pytest.approx(0.9)
    pair = classes([[0.8, 0.1, 0.1]], [2])
    assert registered.coverage_90(pair) == pytest.approx(0.5)


def test_sets_hold_the_most_probable_classes_or_those_that_are_stated():
    given = classes([[0.5, 0.3, 0.2], [0.95, 0.04, 0.01]], [2, 1])
    assert registered.width_90(given) == pytest.approx((3 + 1) / 2)
    assert registered.coverage_90(given) == 0.5
    stated = np.array([[[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
    said = classes([[0.5, 0.3, 0.2], [0.95, 0.04, 0.01]], [2, 1], classes=stated)
    assert registered.coverage_90(said) == 1
    assert registered.width_90(said) == 1.5


def test_a_normals_interval_covers_nine_in_ten():
    """20,000 draws: the standard error is 0.002."""
    y = 2 * GENERATOR.normal(size=20_000) + 1
    given = values(np.ones(20_000), 4.0, y)
    assert registered.coverage_90(given) == pytest.approx(0.9, abs=0.01)
    assert registered.width_90(given) == pytest.approx(2 * 1.645 * 2, rel=1e-3)
    assert registered.nll(given) == pytest.approx(0.5 * (log(2 * pi * 4) + 1), abs=0.03)
    assert registered.crps(given) == pytest.approx(2 / pi**0.5, abs=0.03)
    assert registered.rmse(given) == pytest.approx(2, abs=0.05)
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
    assert all(isnan(getattr(registered, n)(coin)) for n in ("rmse", "crps"))
    assert all(isnan(score(coin)) for score in (registered.corrupted_nll, registered.corrupted_ece))
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
    own = entr(probs).sum(-1)
    disagreement = np.array([[0.0, 0.1, 0.3]])
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
    assert [getattr(registered, f"nll_{k}")(sets) for k in range(1, 6)] == pytest.approx(
        [log(k) for k in range(1, 6)]
    )
    assert registered.shifted_nll(sets) == pytest.approx(log(120) / 5)
    assert registered.shifted_accuracy(sets) == pytest.approx(1.5 / 5)  # a tie at the second
    gaps = [0, 0, 1 / 3, 3 / 8, 2 / 5]
    assert registered.shifted_ece(sets) == pytest.approx(sum(gaps) / 5, abs=1e-5)
    assert isnan(registered.shifted_nll(classes([[0.5, 0.5]], [0])))
    assert isnan(registered.nll_5(classes([[0.5, 0.5]], [0])))


def test_every_name_is_a_function():
    assert all(callable(getattr(registered, name)) for name in SCORES)
