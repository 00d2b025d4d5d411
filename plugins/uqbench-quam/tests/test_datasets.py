"""Facts about the problems, their ground truth and their scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from uqbench_quam import truth
from uqbench_quam.digits import CLASSES, Digits, DigitsOptions, familiar, split
from uqbench_quam.scores import detection, rank_correlation, retention_auc
from uqbench_quam.simplex import QUERY, REMOTE, Simplex, SimplexOptions
from uqbench_quam.sine import Sine, SineOptions
from uqbench_quam.truth import ClassTruth
from uqbench_quam.two_moons import TwoMoons, TwoMoonsOptions, far_corners, grid, moons
from uqbench_quam.uncertainty import given, selected

from uqbench.estimator import PredictiveUncertainty


def test_moons_are_half_circles_and_the_corners_lie_far_on_either_side():
    points = moons(50)
    assert np.allclose(np.linalg.norm(points[:50], axis=1), 1)
    assert np.allclose(np.linalg.norm(points[50:] - [1, 0.5], axis=1), 1)
    corners = grid()[far_corners()]
    top_left = corners[:, 1] > 0
    assert (corners[top_left, 0] < 0).all()
    assert (corners[~top_left, 0] > 1).all()
    assert 10 < top_left.sum() < 40
    assert 10 < (~top_left).sum() < 40


@pytest.mark.parametrize(
    "task", [TwoMoons(TwoMoonsOptions()), Simplex(SimplexOptions()), Sine(SineOptions())]
)
def test_data_are_a_function_of_the_seed_and_of_the_world_it_falls_in(task):
    both, one = task.data([3, 4]), task.data([4])
    assert torch.equal(both.inputs[1], one.inputs[0])
    assert not torch.equal(both.inputs[0], both.inputs[1])
    period = 12  # of 4 and 6 worlds
    assert torch.equal(task.data([4 + period]).inputs, one.inputs)
    assert torch.equal(task.data([4 + period]).targets, one.targets)


def test_the_reference_is_the_same_for_every_estimator_and_only_where_it_is_given():
    task = TwoMoons(TwoMoonsOptions(setting="given"))
    x = grid()[None, :5]
    assert torch.equal(
        task.reference_model([3]).log_probs(x), task.reference_model([3]).log_probs(x)
    )
    assert TwoMoons(TwoMoonsOptions(setting="selected")).reference_model([3]) is None


def test_class_truth_gives_both_settings_from_expectations():
    probs = torch.rand(50, 2, 4, 3, generator=torch.Generator().manual_seed(0)).double().softmax(-1)
    members = probs.log()
    own = ClassTruth(
        {
            "probs": probs.mean(0).numpy(),
            "entropy": -(probs * members).sum(-1).mean(0).numpy(),
            "log_probs": members.mean(0).numpy(),
        }
    )
    reference = members[0]
    assert torch.allclose(own.selected(), selected(members).epistemic)
    assert torch.allclose(own.given(reference), given(reference, members).epistemic)
    assert torch.equal(own.of([1]).probs, own.probs[1:])


def test_the_ground_truth_is_known_by_its_digest(monkeypatch):
    assert ClassTruth(truth.read("simplex")).probs.shape == (6, 1, 3)
    monkeypatch.setitem(truth.DIGESTS, "simplex", "0" * 64)
    with pytest.raises(ValueError, match="ground truth of simplex has the digest"):
        truth.read("simplex")


def test_a_truth_that_is_not_installed_is_told_with_a_way_out(monkeypatch, tmp_path):
    monkeypatch.setattr(truth, "files", lambda package: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"of sine is not installed.*make_truth sine"):
        truth.read("sine")


@pytest.mark.parametrize("name", ["two-moons", "simplex", "sine"])
def test_every_truth_has_a_digest_and_the_shape_of_its_problem(name):
    arrays = truth.read(name)
    if name == "sine":
        assert {a.shape for a in arrays.values()} == {(4, 60)}
        assert (arrays["std"] > 0).all()
        assert (arrays["std"][:, 0] > 3 * arrays["std"][:, 25:35].mean(1)).all()  # off and on data
    else:
        points, classes = {"two-moons": (225, 2), "simplex": (1, 3)}[name]
        assert arrays["probs"].shape == (6, points, classes)
        assert np.allclose(arrays["probs"].sum(-1), 1, atol=1e-5)
        assert (ClassTruth(arrays).selected() <= math.log(classes)).all()


def test_likely_models_give_the_query_of_the_simplex_to_every_class():
    reached = ClassTruth(truth.read("simplex")).probs[:, 0, REMOTE]
    assert (reached > 0).all()
    assert reached.max() > 0.01
    assert QUERY == (-6.0, 2.0)


def test_the_ground_truth_itself_makes_no_error_on_the_simplex():
    own = ClassTruth(truth.read("simplex")).of([2, 3])

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        epistemic = own.selected()
        return PredictiveUncertainty(
            epistemic, 0 * epistemic, epistemic, own.probs, "nats", highest=own.probs
        )

    scores = Simplex(SimplexOptions(setting="selected")).score([2, 3], oracle)
    assert scores["epistemic_error"].tolist() == [0, 0]
    assert scores["total_variation"].tolist() == [0, 0]
    assert torch.equal(scores["remote"], own.probs[:, 0, REMOTE])


def test_digits_keep_training_test_and_foreign_images_apart():
    task = Digits(DigitsOptions(against="inverted"))
    data = task.data([1, 2])
    assert data.inputs.shape == (2, 100, 64)
    assert data.targets.max() < CLASSES
    assert len(set(split(1).tolist())) == len(familiar()[1])
    tested = torch.from_numpy(familiar()[0][split(1)[100:200]])
    assert torch.equal(task.foreign([1])[0], 1 - tested)
    turned = Digits(DigitsOptions(against="rotated")).foreign([1])[0]
    assert torch.equal(turned.view(-1, 8, 8), torch.rot90(tested.view(-1, 8, 8), dims=(1, 2)))
    noise = Digits(DigitsOptions(against="noise")).foreign([1])
    assert noise.shape == (1, 100, 64)
    held_out = Digits(DigitsOptions(against="held-out")).foreign([1, 2])
    assert not torch.equal(held_out[0], held_out[1])


@pytest.mark.parametrize("against", ["noise", "errors"])
def test_an_oracle_detects_everything_and_its_opposite_nothing(against):
    task = Digits(DigitsOptions(against=against))
    seeds = [0, 1]
    known = familiar()[0]
    labels = {row.tobytes(): label for row, label in zip(*familiar(), strict=True)}
    reference = task.reference_model(seeds)

    def knowing(sign: float):
        def predict(inputs: torch.Tensor) -> PredictiveUncertainty:
            guess = reference.log_probs(inputs).argmax(-1)
            foreign = torch.tensor(
                [
                    [
                        float(labels.get(row.numpy().tobytes(), -1) != g)
                        for row, g in zip(rows, guesses, strict=True)
                    ]
                    for rows, guesses in zip(inputs, guess.tolist(), strict=True)
                ]
            )
            if against == "noise":
                foreign = torch.full_like(
                    foreign, float(inputs[0, 0].tolist() not in known.tolist())
                )
            stated = sign * foreign.double()
            return PredictiveUncertainty(stated, 0 * stated, stated, None, "nats")

        return predict

    assert task.score(seeds, knowing(1.0))["auroc"].tolist() == [1, 1]
    assert task.score(seeds, knowing(-1.0))["auroc"].tolist() == [0, 0]
    if against == "errors":
        best = task.score(seeds, knowing(1.0))["retention_auc"]
        assert (best > task.score(seeds, knowing(-1.0))["retention_auc"]).all()


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
    stated = torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert rank_correlation(stated, truth_).tolist() == pytest.approx([1, -1, 0])


def test_the_sines_scores_are_zero_for_the_ground_truth(monkeypatch):
    std = np.linspace(0.1, 2, 60, dtype=np.float32)[None].repeat(4, 0)
    monkeypatch.setattr("uqbench_quam.sine.read", lambda name: {"std": std})

    def oracle(inputs: torch.Tensor) -> PredictiveUncertainty:
        variance = torch.from_numpy(std[: len(inputs)]).double().square()
        mean = inputs.squeeze(-1).sin().double() + 0.5
        return PredictiveUncertainty(variance, 0 * variance, variance, None, "variance", mean=mean)

    scores = Sine(SineOptions()).score([0, 1], oracle)
    assert scores["std_mae"].abs().max() < 1e-7
    assert scores["rank_correlation"].tolist() == pytest.approx([1, 1])
    assert scores["rmse"].tolist() == pytest.approx([0.5, 0.5])
    assert math.isclose(Sine(SineOptions()).data([0]).targets.abs().max().item(), 1, abs_tol=0.4)
