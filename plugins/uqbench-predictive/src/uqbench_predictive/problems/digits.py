"""Detection on scikit-learn's 8 × 8 digits: real images, no download.

The problems of section 4.2 on a small scale, in setting (b): out-of-distribution detection,
misclassification detection and selective prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor

from uqbench.contract.estimator import Data, EvaluationSet
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import TrainingConfig, trained_reference
from uqbench_predictive.problems.detection import Detection, order

CLASSES = 8
"""Digits 0 to 7 are learned; 8 and 9 are held out."""
SYMMETRIC = 2
"""Digits 0 and 1 are themselves when turned or mirrored."""
TESTED = 100
"""Images on either side of a detection problem; for errors, twice as many test images."""
VALIDATED = 100
MOST_TRAINED = 1_000
"""Training images; of the 1,443 of the learned digits, others are for tests and validation."""
REFERENCE_STEPS = 300
REFERENCE = TrainingConfig(hidden=(50, 50), learning_rate=5e-3, weight_decay=1e-3)
REFERENCE_DROPOUT = 0.2


@dataclass(frozen=True, kw_only=True)
class DigitsConfig:
    """Which inputs are to be detected by their uncertainty.

    Attributes:
        against: ``held-out`` digits 8 and 9; test images of 2 to 7 ``turned`` by 180° or
            ``mirrored`` (0 and 1 would stay themselves); the upper half of a test image above the
            lower half of one of another class, ``halves``; or ``errors``, the test images that the
            reference model misclassifies. All are strokes of a pen on the same eight by eight
            pixels, so that no border pixel tells them from digits.
        trained: training images.
    """

    against: Literal["held-out", "turned", "mirrored", "halves", "errors"] = "held-out"
    trained: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.trained <= MOST_TRAINED:
            raise ValueError(f"trained must be from 1 to {MOST_TRAINED:,}, got {self.trained}")


class Digits(Detection):
    """8 × 8 digits: out-of-distribution inputs, errors, selective prediction.

    Training, test and out-of-distribution images are a function of the seed.

    Source: after Schweighofer et al. 2023, section 4.2
    """

    inputs = (64,)
    n_classes = CLASSES

    def __init__(self, config: DigitsConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """The lane's training images, gray values in [0, 1], and 100 more for validation."""
        images, labels = in_distribution()
        count = self.config.trained
        images_of = np.stack([split(seed) for seed in seeds])
        train, held = images_of[:, :count], images_of[:, count + 2 * TESTED :][:, :VALIDATED]
        return Data(
            torch.from_numpy(images[train]),
            torch.from_numpy(labels[train]),
            Data(torch.from_numpy(images[held]), torch.from_numpy(labels[held])),
        )

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork:
        """A network trained with dropout on the lane's images."""
        return trained_reference(
            self, "digits", seeds, REFERENCE, REFERENCE_STEPS, REFERENCE_DROPOUT
        )

    def inside(self, seeds: Sequence[int]) -> EvaluationSet:
        """100 test images per lane, 200 where errors are to be detected."""
        images, labels = in_distribution()
        count = 2 * TESTED if self.config.against == "errors" else TESTED
        index = np.stack([self._tested(seed)[:count] for seed in seeds])
        return EvaluationSet(torch.from_numpy(images[index]), torch.from_numpy(labels[index]))

    def outside(self, seeds: Sequence[int]) -> Tensor | None:
        """100 inputs of another distribution per lane, ``[L, 100, 64]``; None for errors."""
        if self.config.against == "errors":
            return None
        return torch.stack([torch.from_numpy(self._lane_inputs(seed)) for seed in seeds])

    def _tested(self, seed: int) -> NDArray[np.int64]:
        """A lane's test images, those after the training images."""
        return split(seed)[self.config.trained :]

    def _lane_inputs(self, seed: int) -> NDArray[np.float32]:
        if self.config.against == "held-out":
            generator = np.random.default_rng(derive_seed("digits", "foreign", seed))
            images, labels = digits()
            others = images[labels >= CLASSES]
            return others[generator.permutation(len(others))[:TESTED]]
        images, labels = in_distribution()
        tested = self._tested(seed)
        if self.config.against == "halves":
            return halves(images[tested[:TESTED]], labels[tested[:TESTED]])
        tested = tested[: 2 * TESTED]
        drawn = images[tested[labels[tested] >= SYMMETRIC][:TESTED]].reshape(-1, 8, 8)
        moved = drawn[:, ::-1, ::-1] if self.config.against == "turned" else drawn[:, :, ::-1]
        return np.ascontiguousarray(moved).reshape(-1, 64)


def halves(images: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """Each image's upper half above the lower half of an image of another class, ``[N, 64]``.

    Every half is used once, so that each pixel has the same values as in the images: no single
    pixel says anything.

    Raises:
        ValueError: more than half of the images are of one class.
    """
    by_class = labels.argsort(kind="stable")
    below = np.empty_like(by_class)
    below[by_class] = np.roll(by_class, len(labels) // 2)
    if (labels == labels[below]).any():
        raise ValueError(
            f"expected no class with more than half of {len(labels)} images, got "
            f"{np.bincount(labels).max()} of one; give images of more classes"
        )
    return np.concatenate([images[:, :32], images[below, 32:]], axis=1)


@cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All 1,797 images, ``[N, 64]`` in [0, 1], and their digits."""
    loaded = load_digits()
    return (loaded.data / 16).astype(np.float32), loaded.target.astype(np.int64)


def in_distribution() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The images of the classes in the training data."""
    images, labels = digits()
    return images[labels < CLASSES], labels[labels < CLASSES]


def split(seed: int) -> NDArray[np.int64]:
    """The order of a lane's images: training images first."""
    return order("digits", "split", seed, count=len(in_distribution()[1]))
