"""Out-of-distribution detection on MNIST (Table 1), from files that the user provides.

The environment variable ``UQBENCH_DATA`` names their folder; :data:`FILES` lists what it must hold.
Files are identified by their published checksums, so that scores are about the same data wherever
they were computed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from uqbench_predictive.networks.training import TrainingConfig
from uqbench_predictive.problems.fashion import FILES as FASHION
from uqbench_predictive.problems.idx import DataError, File, content, member, parse_idx
from uqbench_predictive.problems.image_files import images_of
from uqbench_predictive.problems.lenet_detection import LeNetDetection

_MNIST = "the MNIST database (its mirror: ossci-datasets, folder mnist)"
_KUZUSHIJI = "codh.rois.ac.jp/kmnist/dataset/kmnist"
FILES: Mapping[str, File] = {
    "train-images": File(
        "mnist/train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", _MNIST
    ),
    "train-labels": File(
        "mnist/train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", _MNIST
    ),
    "test-images": File(
        "mnist/t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", _MNIST
    ),
    "test-labels": File(
        "mnist/t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", _MNIST
    ),
    "fmnist": FASHION["test-images"],
    "kmnist": File(
        "kmnist/t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7", _KUZUSHIJI
    ),
    "emnist": File(
        "emnist/gzip.zip",
        "58c8d27c78d21e728a6bc7b3cc06412e",
        "www.nist.gov/itl/products-and-services/emnist-dataset",
    ),
    "omniglot": File(
        "omniglot/images_evaluation.zip",
        "6b91aef0f799c5bb55b94e3f2daec811",
        "github.com/brendenlake/omniglot, folder python",
    ),
}
LETTERS = "gzip/emnist-letters-test-images-idx3-ubyte.gz"


@dataclass(frozen=True, kw_only=True)
class MNISTConfig:
    """Which images are out of distribution.

    Attributes:
        against: the test images of FashionMNIST, KMNIST or EMNIST's letters, or OMNIGLOT's
            evaluation set.
        points: images on either side; the paper has 10,000.
    """

    against: Literal["fmnist", "kmnist", "emnist", "omniglot"] = "fmnist"
    points: int = 10_000

    def __post_init__(self) -> None:
        if not 1 <= self.points <= 10_000:
            raise ValueError(
                f"points must be from 1 to 10,000, the number of test images, got {self.points}"
            )


class MNIST(LeNetDetection):
    """MNIST against other data sets; reads files from the folder UQBENCH_DATA.

    Setting (b). The network is a LeNet with dropout 0.2 before the last layer, trained on 50,000
    images, about forty times on each; the paper's recipe is not published, any LeNet with 99 %
    accuracy will do.

    Source: Schweighofer et al. 2023, Table 1
    """

    name = "mnist"
    files = FILES
    mean, deviation = 0.1307, 0.3081
    trained = 50_000
    steps = 4_000
    training = TrainingConfig(
        architecture="lenet", learning_rate=1e-3, weight_decay=1e-4, batch_size=512
    )

    def __init__(self, config: MNISTConfig) -> None:
        super().__init__(config.points)
        self.config = config

    def outside(self, seeds: Sequence[int]) -> Tensor:
        """As many images of another data set."""
        name = self.config.against
        read = {"emnist": letters, "omniglot": drawings}.get(name, images_of)
        others = read(self.folder, self.files[name])
        return self.normalized(others[self.chosen(name, seeds, len(others), self.points)])


@cache
def letters(folder: Path, file: File) -> NDArray[np.uint8]:
    """EMNIST's letters ``[N, 28, 28]``, upright: they are stored transposed."""
    inside = member(content(folder, file), file.path, LETTERS)
    images = parse_idx(inside, LETTERS, (None, 28, 28)).astype(np.uint8)
    return np.ascontiguousarray(images.transpose(0, 2, 1))


@cache
def drawings(folder: Path, file: File) -> NDArray[np.uint8]:
    """OMNIGLOT's drawings, resized to 28 × 28, white on black, in the order of their names.

    Raises:
        DataError: Pillow is not installed, or there are no drawings in the archive.
    """
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "reading OMNIGLOT's PNG files needs Pillow: pip install uqbench-predictive[images]"
        ) from None
    with zipfile.ZipFile(io.BytesIO(content(folder, file))) as opened:
        names = sorted(n for n in opened.namelist() if n.endswith(".png"))
        if not names:
            raise DataError(f"{file.path} holds no PNG files")
        images = []
        for drawing in names:
            with Image.open(io.BytesIO(opened.read(drawing))) as image:
                small = image.convert("L").resize((28, 28), Image.Resampling.BILINEAR)
                images.append(255 - np.asarray(small, np.uint8))
    return np.stack(images)
