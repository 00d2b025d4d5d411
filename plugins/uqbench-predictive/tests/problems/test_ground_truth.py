"""Ground truth and the data sets that it is about: two moons, the simplex example, the sine."""

import math

import numpy as np
import pytest
import torch
from uqbench_predictive.problems import ground_truth, sine, two_moons
from uqbench_predictive.problems.ground_truth import ClassTruth
from uqbench_predictive.problems.infinite_width import posterior
from uqbench_predictive.problems.simplex import QUERY, REMOTE, Simplex, SimplexConfig
from uqbench_predictive.problems.sine import Sine, SineConfig
from uqbench_predictive.problems.two_moons import TwoMoons, TwoMoonsConfig
from uqbench_predictive.uncertainty import setting_a, setting_b

from uqbench.estimator import Predictions, PredictiveUncertainty


def predicted(task, seeds, said):
    """Predictions of a row that says the same of every set."""
    sets = task.evaluation_sets(seeds)
    return {name: Predictions(said, one.targets) for name, one in sets.items()}


def test_a_reference_is_the_same_for_all_and_only_where_it_is_given_and_data_sets_are_24():
    given, selected = (TwoMoons(TwoMoonsConfig(setting=of)) for of in ("given", "selected"))
    x = two_moons.grid()[None, :5]
    assert torch.equal(*(given.reference_model([3]).log_probs(x) for _ in range(2)))
    assert selected.reference_model([3]) is None
    for task in (given, Simplex(SimplexConfig()), Sine(SineConfig())):
        assert task.n_datasets == 24
        assert len({row.numpy().tobytes() for row in task.data(range(24)).inputs}) == 24


def test_class_truth_gives_both_settings_from_expectations():
    probs = torch.rand(50, 2, 4, 3, generator=torch.Generator().manual_seed(0)).double().softmax(-1)
    members = probs.log()
    means = {"probs": probs, "entropy": -(probs * members).sum(-1), "log_probs": members}
    own = ClassTruth({name: each.mean(0).numpy() for name, each in means.items()})
    reference = members[0]
    assert torch.allclose(own.setting_a(), setting_a(members).epistemic)
    assert torch.allclose(own.setting_b(reference), setting_b(reference, members).epistemic)
    assert torch.equal(own.of([1]).probs, own.probs[1:])


def test_the_ground_truth_is_identified_by_its_digest(monkeypatch):
    assert ClassTruth(ground_truth.read("simplex")).probs.shape == (24, 1, 3)
    monkeypatch.setitem(ground_truth.DIGESTS, "simplex", "0" * 64)
    with pytest.raises(ValueError, match="ground truth of simplex has the digest"):
        ground_truth.read("simplex")


def test_a_ground_truth_that_is_not_installed_is_reported_with_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(ground_truth, "files", lambda package: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"of sine is not installed.*make_truth sine"):
        ground_truth.read("sine")


@pytest.mark.parametrize(("name", "points", "classes"), [("two-moons", 225, 2), ("simplex", 1, 3)])
def test_every_class_truth_has_its_problems_shape_and_chains_that_agree(name, points, classes):
    arrays = ground_truth.read(name)
    assert arrays["probs"].shape == (24, points, classes)
    assert np.allclose(arrays["probs"].sum(-1), 1, atol=1e-5)
    assert (ClassTruth(arrays).setting_a() <= math.log(classes)).all()
    assert arrays["rhat"].shape == arrays["ess"].shape == (24, points)
    assert np.quantile(arrays["rhat"], 0.99) < 1.05
    assert np.median(arrays["ess"]) > 100


def test_moons_are_half_circles_and_the_corners_lie_far_on_either_side():
    points = two_moons.moons(50)
    assert np.allclose(np.linalg.norm(points[:50], axis=1), 1)
    assert np.allclose(np.linalg.norm(points[50:] - [1, 0.5], axis=1), 1)
    corners = two_moons.grid()[two_moons.far_corners()]
    top_left = corners[:, 1] > 0
    assert (corners[top_left, 0] < 0).all()
    assert (corners[~top_left, 0] > 1).all()
    assert 10 < top_left.sum() < 40
    assert 10 < (~top_left).sum() < 40


def test_likely_models_give_the_query_of_the_simplex_to_every_class():
    reached = ClassTruth(ground_truth.read("simplex")).probs[:, 0, REMOTE]
    assert (reached > 0).all()
    assert reached.max() > 0.01
    assert QUERY == (-6.0, 2.0)


def test_the_ground_truth_itself_makes_no_error_on_the_simplex():
    own = ClassTruth(ground_truth.read("simplex")).of([2, 3])
    said = own.setting_a()
    said = PredictiveUncertainty(said, 0 * said, said, own.probs, "nats", highest=own.probs)
    task = Simplex(SimplexConfig(setting="selected"))
    scores = task.score([2, 3], predicted(task, [2, 3], said))
    assert scores["epistemic_error"].tolist() == [0, 0]
    assert scores["total_variation"].tolist() == [0, 0]
    assert torch.equal(scores["remote"], own.probs[:, 0, REMOTE])


@pytest.mark.parametrize(
    ("prior", "prefix", "other"), [("suite", "", "paper_prior_"), ("paper", "paper_prior_", "")]
)
def test_the_sines_scores_are_zero_for_the_truth_of_that_prior_alone(prior, prefix, other):
    std, at = sine.ground_truth(prior, [0, 1]), sine.grid()
    var, mean = std.square(), at.sin().double() + 0.5
    said = PredictiveUncertainty(var, 0 * var, var, None, "variance", mean=mean.expand(2, -1))
    task = Sine(SineConfig())
    scores = task.score([0, 1], predicted(task, [0, 1], said))
    assert scores[f"{prefix}std_mae"].abs().max() < 1e-5
    assert scores[f"{prefix}rank_correlation"].tolist() == pytest.approx([1, 1])
    assert (scores[f"{other}outside_std_mae"] > 100).all()
    outside = std[:, at.abs() > math.pi].mean(-1)
    assert scores["outside_std"].tolist() == pytest.approx(outside.tolist())
    assert scores["rmse"].tolist() == pytest.approx([0.5, 0.5])
    assert math.isclose(task.data([0]).targets.abs().max().item(), 1, abs_tol=0.4)


def test_the_closed_form_agrees_with_the_committed_chains_of_finite_width():
    arrays = ground_truth.read("sine-hmc")
    chains = arrays["std"]
    exact = ground_truth.read("sine")["suite_std"][: sine.CHECKED_BY_HMC]
    assert chains.shape == (4, 60)
    assert np.abs(chains / exact - 1).mean() < 0.05
    assert arrays["rhat"].max() < 1.05
    assert arrays["ess"].min() > 100


def test_the_committed_standard_deviations_follow_from_the_data_and_the_priors():
    data, at = Sine(SineConfig()).data([7]), sine.grid()[:, None]
    for prior, (inputs, scales) in sine.PRIORS.items():
        known = data.inputs[0], data.targets[0]
        _, covariance = posterior(*known, at, sine.NOISE_VAR, inputs, scales)
        std = covariance.diagonal().sqrt()
        assert torch.allclose(sine.ground_truth(prior, [7])[0], std, rtol=1e-5)
