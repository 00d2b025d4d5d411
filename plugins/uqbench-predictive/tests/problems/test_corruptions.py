"""Corruptions of images: exact facts, and five strengths of each."""

import numpy as np
import pytest
from scipy.fft import dctn
from scipy.ndimage import gaussian_filter
from uqbench_predictive.problems import corruptions
from uqbench_predictive.problems.corruptions import (
    ON_CLOTHES,
    ON_DRAWINGS,
    corrupted,
    corrupted_drawings,
)


def scenes(count: int, side: int = 28) -> np.ndarray:
    """Smooth shapes on black, in [0, 1]."""
    rng = np.random.default_rng(5)
    fields = gaussian_filter(rng.standard_normal((count, side, side)), (0, side / 10, side / 10))
    return (fields / fields.std() - 0.3).clip(0, 2).astype(np.float32) / 2


def test_there_are_fifteen_on_clothes():
    assert len(ON_CLOTHES) == 15
    assert all(len(parameters) == 5 for _, parameters in ON_CLOTHES.values())


@pytest.mark.parametrize("name", ON_CLOTHES)
def test_a_strength_is_farther_from_the_image_than_the_one_below(name):
    images = scenes(60)
    made = [corrupted(images, {name: ON_CLOTHES[name]}, k, seed=1) for k in range(1, 6)]
    changes = [np.square(one - images).mean() for one in made]
    assert changes == sorted(changes)
    assert 0 < 2 * changes[0] < changes[-1]
    assert all(one.dtype == np.float32 and one.min() >= 0 and one.max() <= 1 for one in made)
    again, other = (corrupted(images, {name: ON_CLOTHES[name]}, 3, seed=s) for s in (1, 2))
    assert np.array_equal(again, made[2])
    certain = {"defocus", "zoom", "brightness", "contrast", "pixelation", "jpeg"}
    assert np.array_equal(other, again) == (name in certain)


NOTHING = {
    "noise": 0,
    "impulses": 0,
    "blur": 0,
    "glass": 0,
    "motion": 0,
    "zoom": 1,
    "snow": 0,
    "frost": 0,
    "fog": 0,
    "brightness": 0,
    "contrast": 1,
    "elastic": 0,
    "pixelation": 28,
    "rotation": 0,
    "defocus": 0.5,
    "shot": 1e7,
    "jpeg": 1e-4,
}
"""The parameter at which each leaves images as they are, the last two nearly."""


@pytest.mark.parametrize("name", NOTHING)
def test_a_parameter_leaves_images_as_they_are(name):
    images = scenes(4).astype(np.float64)
    made = getattr(corruptions, name)(images, NOTHING[name], np.random.default_rng(0))
    assert made == pytest.approx(images, abs=2e-3 if name in ("shot", "jpeg") else 1e-9)


def test_pixels_are_means_and_cosines_multiples_of_the_table():
    image = scenes(1).astype(np.float64)
    coarse = corruptions.pixelation(image, 7, np.random.default_rng(0))
    blocks = image.reshape(7, 4, 7, 4).mean((1, 3))
    assert coarse[0] == pytest.approx(blocks.repeat(4, 0).repeat(4, 1))
    made = corruptions.jpeg(image, 3, np.random.default_rng(0))
    cosines = dctn(255 * made[0, 8:16, 8:16] - 128, norm="ortho") / (3 * corruptions.LUMINANCE)
    assert cosines == pytest.approx(np.round(cosines), abs=1e-6)
    assert np.abs(np.round(cosines)).sum() > 0


def test_noise_has_its_deviation_impulses_their_share_and_photons_their_variance():
    rng = np.random.default_rng(0)
    gray = np.full((300, 28, 28), 0.5)
    assert corruptions.noise(gray, 0.3, rng).std() == pytest.approx(0.3, rel=0.02)
    hit = corruptions.impulses(gray, 0.2, rng)
    assert [(hit == value).mean() for value in (0, 1)] == pytest.approx([0.1, 0.1], rel=0.03)
    counts = corruptions.shot(gray, 20, rng)
    assert counts.mean() == pytest.approx(0.5, rel=0.01)
    assert counts.var() == pytest.approx(0.5 / 20, rel=0.02)
    assert corruptions.shot(np.zeros((1, 9, 9)), 20, rng).max() == 0


def test_blurs_spread_a_point_and_keep_its_light():
    point = np.zeros((3, 29, 29))
    point[:, 14, 14] = 1
    rng = np.random.default_rng(0)
    disk = corruptions.defocus(point, 3, rng)[0]
    assert disk.sum() == pytest.approx(1)
    assert disk[14, 11] == pytest.approx(disk[14, 14] / 2)  # the edge
    assert disk[14, 10] == 0
    line = corruptions.motion(point, 9, rng)
    assert line.sum((1, 2)) == pytest.approx(np.ones(3), rel=0.05)
    spread = np.linalg.eigvalsh([np.cov(np.argwhere(one > 0.02).T) for one in line])
    assert (spread[:, 1] > 6 * spread[:, 0]).all()  # long and thin
    assert len({tuple(one[one > 0.01].round(6)) for one in line}) == 3  # each its own direction
    turned = corruptions.glass(point, 1, rng)
    assert turned.sum((1, 2)) == pytest.approx(np.ones(3), rel=1e-6)


def test_haze_lies_on_all_frequencies_below_and_magnification_keeps_the_middle():
    black = np.zeros((200, 28, 28))
    haze = corruptions.fog(black, 1, np.random.default_rng(0))
    power = np.square(np.abs(np.fft.fft2(haze))).mean(0)
    assert power[0, 2] / power[0, 8] == pytest.approx(16, rel=0.3)
    image = scenes(1, 29).astype(np.float64)
    made = corruptions.zoom(image, 1.5, np.random.default_rng(0))
    assert made[0, 14, 14] == pytest.approx(image[0, 14, 14])


def test_images_have_corruptions_in_turn():
    images = scenes(4)
    graded = {name: ON_CLOTHES[name] for name in ("brightness", "contrast")}
    made = corrupted(images, graded, 2, seed=1)
    for first, name in enumerate(graded):
        alone = corrupted(images[first::2], {name: ON_CLOTHES[name]}, 2, seed=1)
        assert np.array_equal(made[first::2], alone)


def test_drawings_have_the_same_fifteen_and_each_channel_its_own_noise():
    assert list(ON_DRAWINGS) == list(ON_CLOTHES)
    gray = np.repeat(scenes(30, 64)[:, None], 3, axis=1)
    kinds = np.arange(30) % 15
    made = [corrupted_drawings(gray, kinds, strength) for strength in range(1, 6)]
    for kind, name in enumerate(ON_DRAWINGS):
        here = kinds == kind
        changes = [np.square(one[here] - gray[here]).mean() for one in made]
        assert changes == sorted(changes)
        assert changes[0] > 0
        alike = np.array_equal(made[2][here, 0], made[2][here, 1])
        assert alike == (name not in {"noise", "shot", "impulses"})
    alone = corruptions.corrupted_drawings(gray[kinds == 7], kinds[kinds == 7], 3)
    assert np.array_equal(alone, made[2][kinds == 7])
