"""Digits under a shift: five strengths of five corruptions."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from uqbench_predictive.problems.corruptions import ON_DIGITS, corrupted
from uqbench_predictive.problems.digits import in_distribution
from uqbench_predictive.problems.shifted import ShiftedConfig, ShiftedDigits
from uqbench_predictive.problems.tables import Real, RealConfig

IMAGES, LABELS = in_distribution()


@pytest.mark.parametrize("name", ON_DIGITS)
def test_a_strength_is_farther_from_the_image_and_harder_than_the_one_below(name):
    """Accuracies of 600 images that a linear model did not see: a standard error below 2 %."""
    model = LogisticRegression(max_iter=1_000).fit(IMAGES[:800], LABELS[:800])
    images, labels = IMAGES[800:1_400], LABELS[800:1_400]
    square = images.reshape(-1, 8, 8)
    graded = {name: ON_DIGITS[name]}
    made = [
        corrupted(square, graded, strength, seed=1).reshape(images.shape)
        for strength in range(1, 6)
    ]
    distances = [np.square(one - images).mean() for one in made]
    assert distances == sorted(distances)
    assert 0 < 4 * distances[0] < distances[-1]
    right = [model.score(images, labels), *(model.score(one, labels) for one in made)]
    assert all(below > above - 0.02 for below, above in pairwise(right))
    assert right[0] > 0.9
    assert 0.6 < right[-1] < 0.8
    assert all((one >= 0).all() and (one <= 1).all() for one in made)


def test_corruptions_are_those_that_are_named():
    rng = np.random.default_rng(0)
    image = np.zeros((1, 8, 8))
    image[0, 1, 4] = 1
    made = {n: corrupt(image, p[-1], rng) for n, (corrupt, p) in ON_DIGITS.items()}
    assert made["blur"].sum() == pytest.approx(1, rel=0.05)
    assert made["blur"].max() < 0.2
    assert np.ptp(made["contrast"]) == pytest.approx(0.15)
    assert made["contrast"].mean() == pytest.approx(image.mean())
    turned = ON_DIGITS["rotation"][0](image, 90, rng)
    assert np.allclose(turned, np.rot90(image, axes=(1, 2)), atol=1e-6)
    many = np.full((200, 8, 8), 0.5)
    assert ON_DIGITS["noise"][0](many, 0.3, rng).std() == pytest.approx(0.3, rel=0.02)
    hit = ON_DIGITS["impulses"][0](many, 0.2, rng)
    assert [(hit == value).mean() for value in (0, 1)] == pytest.approx([0.1, 0.1], rel=0.1)
    gray, noise = np.full((9, 8, 8), 0.5, np.float32), {"noise": ON_DIGITS["noise"]}
    one, two = (corrupted(gray, noise, strength, seed=2) - 0.5 for strength in (1, 2))
    inside = np.abs(two) < 0.5
    assert np.allclose(two[inside], 2 * one[inside], atol=1e-6)  # the same random numbers


def test_sets_are_the_test_images_of_real_digits_at_every_strength_each_with_one_corruption():
    task = ShiftedDigits(ShiftedConfig())
    sets, real = task.evaluation_sets([3, 4]), Real(RealConfig())
    own = real.evaluation_sets([3, 4])["test"]
    assert list(sets) == ["test", *(f"strength-{k}" for k in range(1, 6))]
    assert torch.equal(sets["test"].inputs, own.inputs)
    assert torch.equal(task.data([4]).inputs, real.data([4]).inputs)
    for k in range(1, 6):
        one = sets[f"strength-{k}"]
        assert torch.equal(one.targets, own.targets)
        changed = (one.inputs != own.inputs).any(-1)
        assert changed.double().mean() > 0.95  # 5 % of impulses may miss an image
    assert torch.equal(
        task.evaluation_sets([4])["strength-2"].inputs[0], sets["strength-2"].inputs[1]
    )
    clean, noisy = own.inputs[:, ::5], sets["strength-1"].inputs[:, ::5]
    gray = ((clean - 0.5).abs() < 0.2).all(0) & ((noisy - 0.5).abs() < 0.5).all(0)
    added = (noisy - clean)[:, gray]
    assert gray.sum() > 20
    assert not torch.allclose(added[0], added[1], atol=0.01)  # each lane its own noise
    blurred = ShiftedDigits(ShiftedConfig(corruptions=("blur",))).evaluation_sets([3])
    third = slice(list(ON_DIGITS).index("blur"), None, len(ON_DIGITS))
    everywhere, in_turn = (s["strength-5"].inputs[0, third] for s in (blurred, sets))
    assert torch.equal(everywhere, in_turn)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match=r"one or more of noise, .* got \['fog'\]"):
        ShiftedConfig(corruptions=("fog",))
    with pytest.raises(ValueError, match="one or more of"):
        ShiftedConfig(corruptions=())
