"""Ground truth and the data sets that it is about."""

import math

import numpy as np
import pytest
import torch
from uqbench_predictive.problems import ground_truth
from uqbench_predictive.problems.ground_truth import ClassTruth
from uqbench_predictive.problems.simplex import Simplex, SimplexConfig
from uqbench_predictive.problems.sine import Sine, SineConfig
from uqbench_predictive.problems.two_moons import TwoMoons, TwoMoonsConfig
from uqbench_predictive.uncertainty import setting_a, setting_b


@pytest.mark.parametrize(
    "task", [TwoMoons(TwoMoonsConfig()), Simplex(SimplexConfig()), Sine(SineConfig())]
)
def test_every_number_is_a_data_set_of_its_own(task):
    assert task.n_datasets == 24
    data = task.data(range(24))
    assert len({row.numpy().tobytes() for row in data.inputs}) == 24
    assert torch.equal(task.data([4]).inputs[0], data.inputs[4])
    assert torch.equal(task.data([4]).targets[0], data.targets[4])


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
def test_every_class_truth_has_the_shape_of_its_problem_and_chains_that_agree(
    name, points, classes
):
    arrays = ground_truth.read(name)
    assert arrays["probs"].shape == (24, points, classes)
    assert np.allclose(arrays["probs"].sum(-1), 1, atol=1e-5)
    assert (ClassTruth(arrays).setting_a() <= math.log(classes)).all()
    assert arrays["rhat"].shape == arrays["ess"].shape == (24, points)
    assert np.quantile(arrays["rhat"], 0.99) < 1.05
    assert np.median(arrays["ess"]) > 100
