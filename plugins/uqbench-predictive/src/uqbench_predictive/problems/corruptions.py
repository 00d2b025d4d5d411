"""Corruptions of gray images, by strength, from their definitions in Hendrycks & Dietterich 2019.

A corruption is a function of images ``[M, H, W]`` in [0, 1], a parameter, and a source of random
numbers, of which it takes as many whatever the parameter: an image has the same flakes of snow at
every strength. Results may leave [0, 1]; :func:`corrupted` cuts them off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.ndimage import (
    affine_transform,
    convolve,
    gaussian_filter,
    map_coordinates,
    rotate,
)
from scipy.stats import poisson

from uqbench.contract.seeding import derive_seed

Images = NDArray[np.float64]
Corruption = Callable[[Images, float, np.random.Generator], Images]
STRENGTHS = 5


def noise(images: Images, deviation: float, generator: np.random.Generator) -> Images:
    """Normal noise."""
    return images + deviation * generator.standard_normal(images.shape)


def shot(images: Images, photons: float, generator: np.random.Generator) -> Images:
    """Poisson noise: white is so many photons."""
    counts: Images = poisson.ppf(generator.random(images.shape), photons * images)
    return counts / photons


def impulses(images: Images, share: float, generator: np.random.Generator) -> Images:
    """A share of the pixels black or white."""
    hit = generator.random(images.shape) < share
    return np.where(hit, generator.integers(0, 2, images.shape), images)


def blur(images: Images, width: float, _: np.random.Generator) -> Images:
    """A normal filter, its width in pixels."""
    blurred: Images = gaussian_filter(images, (0, width, width))
    return blurred


def defocus(images: Images, radius: float, _: np.random.Generator) -> Images:
    """The mean over a disk, its edge a pixel wide."""
    reach = int(np.ceil(radius + 0.5))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disk = (radius + 0.5 - np.hypot(x, y)).clip(0, 1)
    spread: Images = convolve(images, (disk / disk.sum())[None], mode="nearest")
    return spread


def glass(images: Images, share: float, generator: np.random.Generator) -> Images:
    """Frosted glass: pixels change places with neighbors, twice; a share of the result."""
    made = images.copy()
    height, width = images.shape[1:]
    every = np.arange(len(images))
    for _ in range(2):
        steps = generator.integers(-1, 2, (2, len(images), height, width))
        for row in range(1, height - 1):
            for column in range(1, width - 1):
                other = row + steps[0, :, row, column], column + steps[1, :, row, column]
                here = made[:, row, column].copy()
                made[:, row, column] = made[every, *other]
                made[every, *other] = here
    frosted: Images = gaussian_filter(made, (0, 0.5, 0.5))
    return images + share * (frosted - images)


def motion(images: Images, length: float, generator: np.random.Generator) -> Images:
    """The mean along a line of so many pixels, in a direction of the image's own."""
    return _along(images, length, generator.uniform(0, np.pi, len(images)))


def zoom(images: Images, largest: float, _: np.random.Generator) -> Images:
    """The mean over magnifications, from none to the largest, about the middle."""
    magnified = [_magnified(images, factor) for factor in np.linspace(1, largest, 8)]
    made: Images = np.mean(magnified, axis=0)
    return made


def snow(images: Images, amount: float, generator: np.random.Generator) -> Images:
    """Flakes that fall, each image's in a direction of its own, on a picture whitened by them."""
    grains = gaussian_filter(generator.standard_normal(images.shape), (0, 0.7, 0.7))
    grains = ((grains / grains.std() - 1) / 2).clip(0, 1)
    falling = _along(grains, 4, generator.uniform(np.pi / 4, 3 * np.pi / 4, len(images)))
    whitened = np.maximum(images, 0.5 * images + 0.25)
    return images + amount * (0.5 * (whitened - images) + 2 * falling)


def frost(images: Images, amount: float, generator: np.random.Generator) -> Images:
    """Crystals over a picture that darkens: ridges of noise, where the paper has photographs."""
    field = gaussian_filter(generator.standard_normal(images.shape), (0, 1.5, 1.5))
    crystals: Images = (1 - 2 * np.abs(field) / field.std()).clip(0, 1)
    return images + amount * (crystals - 0.6 * images)


def fog(images: Images, amount: float, generator: np.random.Generator) -> Images:
    """Haze whose amplitude falls as one over the frequency; the contrast falls with it."""
    height, width = images.shape[1:]
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))
    frequency[0, 0] = np.inf
    white = np.fft.fft2(generator.standard_normal(images.shape))
    haze: Images = np.fft.ifft2(white / frequency).real
    low, high = haze.min((1, 2), keepdims=True), haze.max((1, 2), keepdims=True)
    hazy: Images = images + amount * (haze - low) / (high - low)
    return hazy / (1 + amount / 2)


def brightness(images: Images, added: float, _: np.random.Generator) -> Images:
    """A constant."""
    return images + added


def contrast(images: Images, left: float, _: np.random.Generator) -> Images:
    """What is left of the distances from each image's mean."""
    mean = images.mean((1, 2), keepdims=True)
    faded: Images = mean + left * (images - mean)
    return faded


def elastic(images: Images, reach: float, generator: np.random.Generator) -> Images:
    """Pixels from places that are off by a smooth field, so many pixels in standard deviation."""
    field = gaussian_filter(generator.uniform(-1, 1, (2, *images.shape)), (0, 0, 3, 3))
    field *= reach / field.std()
    number, row, column = np.indices(images.shape).astype(np.float64)
    places = [number, row + field[0], column + field[1]]
    stretched: Images = map_coordinates(images, places, order=1, mode="nearest")
    return stretched


def pixelation(images: Images, side: float, _: np.random.Generator) -> Images:
    """So many larger pixels along each side."""
    bins = np.arange(images.shape[1]) * int(side) // images.shape[1]
    members = (bins == np.arange(int(side))[:, None]).astype(np.float64)
    means = members / members.sum(1, keepdims=True)
    coarse: Images = (means @ images @ means.T)[:, bins][:, :, bins]
    return coarse


LUMINANCE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ]
)
"""Quantization of a block's cosines: ITU-T T.81 (JPEG), Table K.1."""


def jpeg(images: Images, factor: float, _: np.random.Generator) -> Images:
    """Cosines of 8 × 8 blocks, rounded to multiples of a factor on JPEG's table."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (0, -height % 8), (0, -width % 8)), mode="edge")
    blocks = (255 * padded - 128).reshape(len(images), padded.shape[1] // 8, 8, -1, 8)
    table = factor * LUMINANCE[:, None, :]
    rounded = np.round(dctn(blocks, axes=(2, 4), norm="ortho") / table) * table
    made: Images = (idctn(rounded, axes=(2, 4), norm="ortho") + 128) / 255
    return made.reshape(padded.shape)[:, :height, :width]


def rotation(images: Images, degrees: float, _: np.random.Generator) -> Images:
    """To the left, on black."""
    turned: Images = rotate(
        images, degrees, axes=(1, 2), reshape=False, order=1, mode="grid-constant"
    )
    return turned


def _along(images: Images, length: float, directions: Images) -> Images:
    """The mean along a line through every pixel, of images ``[M, H, W]``, directions ``[M]``."""
    number, row, column = np.indices(images.shape).astype(np.float64)
    sine, cosine = np.sin(directions)[:, None, None], np.cos(directions)[:, None, None]
    steps = (np.arange(9) - 4) / 9 * length
    parts = [
        map_coordinates(
            images, [number, row + step * sine, column + step * cosine], order=1, mode="nearest"
        )
        for step in steps
    ]
    made: Images = np.mean(parts, axis=0)
    return made


def _magnified(images: Images, factor: float) -> Images:
    middle = (np.array(images.shape) - 1) / 2
    scale = np.array([1, 1 / factor, 1 / factor])
    made: Images = affine_transform(
        images, scale, offset=middle - scale * middle, order=1, mode="nearest"
    )
    return made


Graded = Mapping[str, tuple[Corruption, Sequence[float]]]
"""Corruptions by name, with the parameter at each strength."""
ON_DIGITS: Graded = {
    "noise": (noise, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "impulses": (impulses, (0.05, 0.1, 0.17, 0.25, 0.33)),
    "blur": (blur, (0.4, 0.6, 0.8, 1.0, 1.2)),
    "contrast": (contrast, (0.7, 0.5, 0.35, 0.25, 0.15)),
    "rotation": (rotation, (5, 10, 15, 20, 24)),
}
"""At the fifth strength a linear model is right on about 70 % of each instead of 94 %. Weather,
JPEG, pixelation and further blurs and noises say nothing more on 8 × 8 pixels of 17 gray values."""
ON_CLOTHES: Graded = {
    "noise": (noise, (0.15, 0.3, 0.45, 0.6, 0.8)),
    "shot": (shot, (20, 8, 4, 2, 1)),
    "impulses": (impulses, (0.05, 0.12, 0.2, 0.3, 0.4)),
    "defocus": (defocus, (0.8, 1.5, 2.2, 3.0, 4.0)),
    "glass": (glass, (0.3, 0.5, 0.7, 0.85, 1.0)),
    "motion": (motion, (3, 5, 7, 10, 13)),
    "zoom": (zoom, (1.1, 1.2, 1.35, 1.5, 1.7)),
    "snow": (snow, (0.2, 0.4, 0.6, 0.8, 1.0)),
    "frost": (frost, (0.2, 0.35, 0.5, 0.65, 0.8)),
    "fog": (fog, (0.3, 0.6, 1.0, 1.5, 2.2)),
    "brightness": (brightness, (0.08, 0.16, 0.24, 0.32, 0.4)),
    "contrast": (contrast, (0.75, 0.55, 0.4, 0.28, 0.18)),
    "elastic": (elastic, (0.5, 0.8, 1.2, 1.6, 2.0)),
    "pixelation": (pixelation, (20, 14, 10, 8, 6)),
    "jpeg": (jpeg, (2, 5, 10, 16, 25)),
}
"""The fifteen of Hendrycks & Dietterich 2019, for 28 × 28 pixels."""
ON_DRAWINGS: Graded = {
    "noise": (noise, (0.08, 0.12, 0.18, 0.26, 0.38)),
    "shot": (shot, (60, 25, 12, 5, 3)),
    "impulses": (impulses, (0.03, 0.06, 0.09, 0.17, 0.27)),
    "defocus": (defocus, (1.0, 1.7, 2.5, 3.5, 4.5)),
    "glass": (glass, (0.3, 0.5, 0.7, 0.85, 1.0)),
    "motion": (motion, (6, 9, 13, 18, 24)),
    "zoom": (zoom, (1.1, 1.2, 1.35, 1.5, 1.7)),
    "snow": (snow, (0.2, 0.4, 0.6, 0.8, 1.0)),
    "frost": (frost, (0.2, 0.35, 0.5, 0.65, 0.8)),
    "fog": (fog, (0.3, 0.6, 1.0, 1.5, 2.2)),
    "brightness": (brightness, (0.1, 0.2, 0.3, 0.4, 0.5)),
    "contrast": (contrast, (0.75, 0.55, 0.4, 0.28, 0.18)),
    "elastic": (elastic, (1.0, 1.6, 2.4, 3.2, 4.0)),
    "pixelation": (pixelation, (38, 26, 20, 15, 11)),
    "jpeg": (jpeg, (2, 4, 7, 12, 20)),
}
"""The same for 64 × 64 pixels in colour. Noise of any kind is each channel's own; the others do to
all channels alike."""
OF_A_CHANNEL = ("noise", "shot", "impulses")


def corrupted(
    images: NDArray[np.float32], graded: Graded, strength: int, seed: int
) -> NDArray[np.float32]:
    """Images ``[M, H, W]`` in [0, 1], one after the other by the next of the corruptions.

    Args:
        images: clean.
        graded: the corruptions.
        strength: 1 to 5.
        seed: of the random numbers; the same ones at every strength.
    """
    made = images.astype(np.float64)
    for first, (name, (corrupt, parameters)) in enumerate(graded.items()):
        generator = np.random.default_rng(derive_seed("corruption", name, seed))
        chosen = slice(first, None, len(graded))
        made[chosen] = corrupt(made[chosen], parameters[strength - 1], generator)
    return made.clip(0, 1).astype(np.float32)


def corrupted_drawings(
    images: NDArray[np.float32], kinds: NDArray[np.int64], strength: int
) -> NDArray[np.float32]:
    """Drawings ``[M, 3, H, W]`` in [0, 1], each by one of :data:`ON_DRAWINGS`.

    Args:
        images: clean.
        kinds: ``[M]``, the corruption's place in the list.
        strength: 1 to 5; the random numbers are the same at each.
    """
    made = images.astype(np.float64)
    for kind in np.unique(kinds):
        name, (corrupt, parameters) = list(ON_DRAWINGS.items())[kind]
        for channel in range(images.shape[1]):
            stream = channel if name in OF_A_CHANNEL else 0
            generator = np.random.default_rng(derive_seed("drawings", name, stream))
            here = made[kinds == kind, channel]
            made[kinds == kind, channel] = corrupt(here, parameters[strength - 1], generator)
    return made.clip(0, 1).astype(np.float32)


def altered(images: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Images ``[M, 64]``, one after the other by the next of five changes.

    Normal noise of 0.3, a blur of one pixel, a third of the contrast, a shift by a pixel to the
    right, and the lower half set to zero.
    """
    made = images.reshape(-1, 8, 8).copy()
    kinds = np.arange(len(made)) % 5
    made[kinds == 0] += generator.normal(0, 0.3, made[kinds == 0].shape).astype(np.float32)
    made[kinds == 1] = gaussian_filter(made[kinds == 1], (0, 1, 1))
    made[kinds == 2] = 0.5 + (made[kinds == 2] - 0.5) / 3
    made[kinds == 3] = np.roll(made[kinds == 3], 1, axis=2)
    made[kinds == 4, 4:] = 0
    return made.clip(0, 1).reshape(images.shape)
