"""Ground truth and the data sets that it is about."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from uqbench_quam.problems import ground_truth
from uqbench_quam.problems.ground_truth import ClassTruth
from uqbench_quam.problems.simplex import Simplex, SimplexConfig
from uqbench_quam.problems.two_moons import TwoMoons, TwoMoonsConfig
from uqbench_quam.uncertainty import setting_a, setting_b


@pytest.mark.parametrize("task", [TwoMoons(TwoMoonsConfig()), Simplex(SimplexConfig())])
def test_data_are_a_function_of_the_data_set_of_the_seed(task):
    both, one = task.data([3, 4]), task.data([4])
    assert torch.equal(both.inputs[1], one.inputs[0])
    assert not torch.equal(both.inputs[0], both.inputs[1])
    period = 12  # of 4 and of 6 data sets
    assert torch.equal(task.data([4 + period]).inputs, one.inputs)
    assert torch.equal(task.data([4 + period]).targets, one.targets)


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
    assert ClassTruth(ground_truth.read("simplex")).probs.shape == (6, 1, 3)
    monkeypatch.setitem(ground_truth.DIGESTS, "simplex", "0" * 64)
    with pytest.raises(ValueError, match="ground truth of simplex has the digest"):
        ground_truth.read("simplex")


def test_a_ground_truth_that_is_not_installed_is_reported_with_a_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr(ground_truth, "files", lambda package: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"of sine is not installed.*make_truth sine"):
        ground_truth.read("sine")


@pytest.mark.parametrize("name", ["two-moons", "simplex"])
def test_every_truth_has_a_digest_and_the_shape_of_its_problem(name):
    arrays = ground_truth.read(name)
    points, classes = {"two-moons": (225, 2), "simplex": (1, 3)}[name]
    assert arrays["probs"].shape == (6, points, classes)
    assert np.allclose(arrays["probs"].sum(-1), 1, atol=1e-5)
    assert (ClassTruth(arrays).setting_a() <= math.log(classes)).all()
