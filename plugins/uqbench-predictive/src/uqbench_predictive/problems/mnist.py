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
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.estimator import Data, EvaluationSet
from uqbench.seeding import derive_seed
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.problems.detection import Detection, order
from uqbench_predictive.problems.idx import DataError, File, content, member, parse_idx
from uqbench_predictive.problems.image_files import data_folder, images_of, labels_of

TRAINED = 50_000
MEAN, DEVIATION = 0.1307, 0.3081
"""Of MNIST's gray values; all images are normalized by them."""
REFERENCE_STEPS = 4_000
REFERENCE = TrainingConfig(
    architecture="lenet", learning_rate=1e-3, weight_decay=1e-4, batch_size=512
)
"""About forty epochs; the paper's recipe is not published, any LeNet with 99 % accuracy will do."""
REFERENCE_DROPOUT = 0.2

_MNIST = "the MNIST database (its mirror: ossci-datasets, folder mnist)"
_FASHION = "github.com/zalandoresearch/fashion-mnist"
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
    "fmnist": File(
        "fmnist/t10k-images-idx3-ubyte.gz",
        "bef4ecab320f06d8554ea6380940ec79",
        _FASHION,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    ),
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


class MNIST(Detection):
    """MNIST against other data sets; reads files from the folder UQBENCH_DATA.

    Setting (b). The network is a LeNet with dropout 0.2 before the last layer.

    Source: Schweighofer et al. 2023, Table 1
    """

    inputs = (28, 28)
    n_classes = 10

    def __init__(self, config: MNISTConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """50,000 of the training images per lane, in the order of its seed, normalized."""
        folder = data_folder(FILES.values())
        images, labels = _read("train", folder)
        lanes = [order("mnist", "train", seed, count=len(labels)) for seed in seeds]
        index = np.stack(lanes)[:, :TRAINED]
        return Data(normalized(images[index]), torch.from_numpy(labels[index]))

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork:
        """A LeNet trained with dropout on the lane's images."""
        own = [derive_seed("mnist", "reference", seed) for seed in seeds]
        trainer = Trainer(self, own, REFERENCE, torch.device("cpu"))
        weights = trainer.train(self.data(seeds), REFERENCE_STEPS, drop=REFERENCE_DROPOUT)
        return ReferenceNetwork(trainer.network, weights)

    def inside(self, seeds: Sequence[int]) -> EvaluationSet:
        """MNIST's test images, in an order of the lane's own."""
        images, labels = _read("test", data_folder(FILES.values()))
        index = self._chosen("test", seeds, len(labels))
        return EvaluationSet(normalized(images[index]), torch.from_numpy(labels[index]))

    def outside(self, seeds: Sequence[int]) -> Tensor:
        """As many images of another data set."""
        others = ood_images(data_folder(FILES.values()), self.config.against)
        return normalized(others[self._chosen(self.config.against, seeds, len(others))])

    def _chosen(self, name: str, seeds: Sequence[int], count: int) -> NDArray[np.int64]:
        lanes = [order("mnist", name, seed, count=count) for seed in seeds]
        return np.stack(lanes)[:, : self.config.points]


@cache
def ood_images(folder: Path, name: str) -> NDArray[np.uint8]:
    """The images ``[N, 28, 28]`` of another data set, white on black like MNIST's."""
    if name == "emnist":
        letters = member(content(folder, FILES["emnist"]), FILES["emnist"].path, LETTERS)
        images = parse_idx(letters, LETTERS, (None, 28, 28)).astype(np.uint8)
        return np.ascontiguousarray(images.transpose(0, 2, 1))  # stored transposed
    if name == "omniglot":
        return drawings(content(folder, FILES["omniglot"]), FILES["omniglot"].path)
    return images_of(folder, FILES[name])


def _read(part: str, folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    files = FILES[f"{part}-images"], FILES[f"{part}-labels"]
    return images_of(folder, files[0]), labels_of(folder, files[1])


def drawings(archive: bytes, name: str) -> NDArray[np.uint8]:
    """OMNIGLOT's drawings, resized to 28 × 28 and inverted, in the order of their names.

    Raises:
        DataError: Pillow is not installed, or there are no drawings in the archive.
    """
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "reading OMNIGLOT's PNG files needs Pillow: pip install uqbench-predictive[images]"
        ) from None
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = sorted(n for n in opened.namelist() if n.endswith(".png"))
        if not names:
            raise DataError(f"{name} holds no PNG files")
        images = []
        for drawing in names:
            with Image.open(io.BytesIO(opened.read(drawing))) as image:
                small = image.convert("L").resize((28, 28), Image.Resampling.BILINEAR)
                images.append(255 - np.asarray(small, np.uint8))
    return np.stack(images)


def normalized(images: NDArray[np.uint8]) -> Tensor:
    """From gray values 0 to 255 to the network's inputs, float32."""
    scaled = (images.astype(np.float32) / 255 - MEAN) / DEVIATION
    return torch.from_numpy(scaled.astype(np.float32))
