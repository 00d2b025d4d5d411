"""Detection on ImageNet-1K by the last layer (Table 2), from features that the user computes.

The environment variable ``UQBENCH_IMAGENET`` names a ``.npz`` file with these arrays, of a network
whose last layer is affine with H inputs and C classes:

=================  =============  =============================================================
``weight``         ``[H, C]``     of the last layer
``bias``           ``[C]``
``train_features`` ``[n, H]``     of training images, inputs of the last layer, float32
``train_labels``   ``[n]``        their classes
``test_features``  ``[m, H]``     of validation images
``test_labels``    ``[m]``
``ood_features``   ``[k, H]``     of ImageNet-O
``adv_features``   ``[j, H]``     of ImageNet-A
``networks_test``  ``[E, m, C]``  optional: logits of E further networks, for the row "DE (all)";
                                  with it, ``networks_ood`` ``[E, k, C]``, ``networks_adv``
                                  ``[E, j, C]``
=================  =============  =============================================================

The network's own logits are not needed: they follow from its features and last layer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.estimator import Data, EvaluationSet
from uqbench_predictive.networks.architectures import HEAD, Mlp
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.problems.detection import Detection, order
from uqbench_predictive.problems.idx import DataError, MissingError

VARIABLE = "UQBENCH_IMAGENET"
Arrays = Mapping[str, NDArray[np.generic]]
SETS = {"ood": "ood_features", "adversarial": "adv_features"}


@dataclass(frozen=True, kw_only=True)
class ImageNetConfig:
    """Which inputs are to be detected.

    Attributes:
        against: ``ood``, ImageNet-O; ``adversarial``, the natural adversarial examples of
            ImageNet-A; ``errors``, validation images that the reference model misclassifies.
        points: images on either side, at most; all where there are fewer.
    """

    against: Literal["ood", "adversarial", "errors"] = "ood"
    points: int = 2_000


class ImageNet(Detection):
    """ImageNet-1K by the last layer; reads the file of features UQBENCH_IMAGENET.

    Setting (b). Inputs are features; the reference model is the last layer.

    Source: Schweighofer et al. 2023, Table 2
    """

    most_bytes = 128 << 20

    def __init__(self, config: ImageNetConfig) -> None:
        self.config = config
        self.arrays = features(data_file())
        width, self.n_classes = self.arrays["weight"].shape
        self.inputs = (width,)

    def data(self, seeds: Sequence[int]) -> Data:
        """All training features, in the order of the lane's seed."""
        count = len(self.arrays["train_labels"])
        index = np.stack([order("imagenet", "train", seed, count=count) for seed in seeds])
        labels = self.arrays["train_labels"][index].astype(np.int64)
        return Data(self._features("train_features", index), torch.from_numpy(labels))

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork:
        """The last layer in the file, the same for every seed."""
        parts = (self.arrays["weight"], self.arrays["bias"][None])
        weights = {
            name: torch.from_numpy(part.astype(np.float32)).expand(len(seeds), *part.shape).clone()
            for name, part in zip(HEAD, parts, strict=True)
        }
        # dropout stands before the last layer: of the features
        network = Mlp(self.inputs[0], (), self.n_classes, drops_inputs=True)
        return ReferenceNetwork(network, weights)

    def inside(self, seeds: Sequence[int]) -> EvaluationSet:
        """Features of validation images, in an order of the lane's own."""
        index = self._chosen("test_labels", seeds)
        labels = self.arrays["test_labels"][index].astype(np.int64)
        return EvaluationSet(self._features("test_features", index), torch.from_numpy(labels))

    def outside(self, seeds: Sequence[int]) -> Tensor | None:
        """Features of ImageNet-O or ImageNet-A; None for errors."""
        if self.config.against == "errors":
            return None
        name = SETS[self.config.against]
        return self._features(name, self._chosen(name, seeds))

    def _features(self, name: str, index: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.arrays[name][index].astype(np.float32))

    def _chosen(self, name: str, seeds: Sequence[int]) -> NDArray[np.int64]:
        count = len(self.arrays[name])
        lanes = [order("imagenet", name, seed, count=count) for seed in seeds]
        return np.stack(lanes)[:, : self.config.points]


def data_file() -> Path:
    """The file that the user named.

    Raises:
        MissingError: none was named, or it does not exist.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        raise MissingError(
            f"set the environment variable {VARIABLE} to a .npz file of features, as described in "
            f"the documentation of {__name__}"
        )
    if not Path(named).is_file():
        raise MissingError(f"{VARIABLE} names {named}, which is not a file")
    return Path(named)


@cache
def features(path: Path) -> Arrays:
    """The arrays of the file, their shapes checked.

    Raises:
        DataError: an array is missing, or its shape does not match the others.
    """
    with np.load(path) as opened:
        arrays = dict(opened)
    required = {
        "weight": "HC",
        "bias": "C",
        "train_features": "nH",
        "train_labels": "n",
        "test_features": "mH",
        "test_labels": "m",
        "ood_features": "kH",
        "adv_features": "jH",
    }
    further = {"networks_test": "EmC", "networks_ood": "EkC", "networks_adv": "EjC"}
    if any(name in arrays for name in further):
        required |= further
    sizes: dict[str, int] = {}
    for name, letters in required.items():
        if name not in arrays:
            raise DataError(f"{path} has no array {name!r}; expected {', '.join(required)}")
        shape = arrays[name].shape
        if len(shape) != len(letters):
            raise DataError(f"{path}: {name} has shape {shape}, expected [{', '.join(letters)}]")
        for letter, size in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise DataError(
                    f"{path}: {name} has shape {shape}, expected [{', '.join(letters)}] with "
                    f"{letter} = {sizes[letter]} as in the preceding arrays"
                )
    return arrays
