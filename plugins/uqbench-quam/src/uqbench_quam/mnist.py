"""Out-of-distribution detection on MNIST (Table 1), from files that the user has.

The folder is named by the environment variable ``UQBENCH_DATA``; what has to lie in it is
:data:`FILES`. Files are known by their published checksums, so that scores are about the same data
wherever they were made.
"""

from __future__ import annotations

import io
import os
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

from uqbench.estimator import Data, Dataset, Predict
from uqbench.seeding import derive_seed
from uqbench_quam.config import TrainingConfig
from uqbench_quam.given import GivenNetwork, architecture, train
from uqbench_quam.idx import DataError, File, content, member, parse_idx
from uqbench_quam.scores import detection, retention_auc

VARIABLE = "UQBENCH_DATA"
TRAINED = 50_000
MEAN, DEVIATION = 0.1307, 0.3081
"""Of MNIST's grey values; by them all images are normalised."""
REFERENCE_STEPS = 4_000
REFERENCE = TrainingConfig(
    architecture="lenet", learning_rate=1e-3, weight_decay=1e-4, batch_size=512
)
"""Some forty epochs; the paper's recipe is not published, any LeNet of 99 % is fine."""
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
        "fmnist/t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", _FASHION
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
class MNISTOptions:
    """MNIST against another data set, setting (b).

    Attributes:
        against: which images are foreign: the test images of FashionMNIST, KMNIST or EMNIST's
            letters, or OMNIGLOT's evaluation set.
        points: images of either side; the paper takes 10,000.
    """

    against: Literal["fmnist", "kmnist", "emnist", "omniglot"] = "fmnist"
    points: int = 10_000

    def __post_init__(self) -> None:
        if not 1 <= self.points <= 10_000:
            raise ValueError(f"points: there are 10,000 test images, got {self.points}")


class MNIST(Dataset):
    """See :class:`MNISTOptions`. The network is a LeNet with dropout 0.2 before the last layer."""

    inputs = (28, 28)
    n_classes = 10

    def __init__(self, options: MNISTOptions) -> None:
        self.options = options

    def data(self, seeds: Sequence[int]) -> Data:
        """50,000 of the training images a lane, in the order of its seed, normalised."""
        folder = data_folder()
        images, labels = images_of(folder, "train-images"), labels_of(folder, "train-labels")
        orders = [
            np.random.default_rng(derive_seed("mnist", "train", seed)).permutation(len(labels))
            for seed in seeds
        ]
        index = np.stack(orders)[:, :TRAINED]
        return Data(normalised(images[index]), torch.from_numpy(labels[index]))

    def reference_model(self, seeds: Sequence[int]) -> GivenNetwork:
        """A LeNet trained with dropout on the lane's images."""
        network = architecture(self, REFERENCE)
        own = [derive_seed("mnist", "reference", seed) for seed in seeds]
        weights = train(
            network, self.data(seeds), own, REFERENCE_STEPS, REFERENCE, drop=REFERENCE_DROPOUT
        )
        return GivenNetwork(network, weights)

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """``auroc``, ``aupr``, ``fpr95`` of the detection, and ``retention_auc`` on MNIST."""
        folder, count = data_folder(), self.options.points
        images, labels = images_of(folder, "test-images"), labels_of(folder, "test-labels")
        index = np.stack([_order("test", seed, len(labels))[:count] for seed in seeds])
        predicted = predict(normalised(images[index]))
        foreign = foreign_images(folder, self.options.against)
        others = np.stack(
            [_order(self.options.against, seed, len(foreign))[:count] for seed in seeds]
        )
        stated = predict(normalised(foreign[others]))
        if predicted.probs is None:
            raise ValueError("expected class probabilities from an estimator of ood-mnist")
        right = predicted.probs.argmax(-1) == torch.from_numpy(labels[index])
        return detection(stated.epistemic, predicted.epistemic) | {
            "retention_auc": retention_auc(predicted.epistemic, right)
        }


def data_folder() -> Path:
    """The folder that the user named.

    Raises:
        DataError: none was named, or it is no folder.
    """
    named = os.environ.get(VARIABLE)
    wanted = "\n".join(f"  {file.path}   from {file.where}" for file in FILES.values())
    if not named:
        raise DataError(
            f"set the environment variable {VARIABLE} to a folder with the image data:\n{wanted}"
        )
    if not Path(named).is_dir():
        raise DataError(f"{VARIABLE} names {named}, which is no folder; it has to hold:\n{wanted}")
    return Path(named)


@cache
def images_of(folder: Path, name: str) -> NDArray[np.uint8]:
    """The images ``[N, 28, 28]`` of an IDX file of :data:`FILES`."""
    file = FILES[name]
    images = parse_idx(content(folder, file), file.path, (None, 28, 28))
    return images.astype(np.uint8)


@cache
def labels_of(folder: Path, name: str) -> NDArray[np.int64]:
    """The labels ``[N]`` of an IDX file of :data:`FILES`."""
    file = FILES[name]
    return parse_idx(content(folder, file), file.path, (None,)).astype(np.int64)


@cache
def foreign_images(folder: Path, name: str) -> NDArray[np.uint8]:
    """The images ``[N, 28, 28]`` of another data set, white on black like MNIST's."""
    if name == "emnist":
        letters = member(content(folder, FILES["emnist"]), FILES["emnist"].path, LETTERS)
        images = parse_idx(letters, LETTERS, (None, 28, 28)).astype(np.uint8)
        return np.ascontiguousarray(images.transpose(0, 2, 1))  # the files hold them transposed
    if name == "omniglot":
        return drawings(content(folder, FILES["omniglot"]), FILES["omniglot"].path)
    return images_of(folder, name)


def drawings(archive: bytes, name: str) -> NDArray[np.uint8]:
    """OMNIGLOT's drawings, resized to 28 × 28 and inverted, in the order of their names.

    Raises:
        DataError: Pillow is not installed, or there are no drawings in the archive.
    """
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "OMNIGLOT's drawings are PNG files, which need Pillow: pip install uqbench-quam[images]"
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


def normalised(images: NDArray[np.uint8]) -> Tensor:
    """Grey values 0 to 255 as the network takes them, float32."""
    scaled = (images.astype(np.float32) / 255 - MEAN) / DEVIATION
    return torch.from_numpy(scaled.astype(np.float32))


def _order(name: str, seed: int, count: int) -> NDArray[np.int64]:
    return np.random.default_rng(derive_seed("mnist", name, seed)).permutation(count)
