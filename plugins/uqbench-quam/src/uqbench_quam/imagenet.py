"""Detection on ImageNet-1K by the last layer (Table 2), from features that the user computed.

The environment variable ``UQBENCH_IMAGENET`` names a ``.npz`` file with these arrays, of a network
whose last layer is affine with H inputs and C classes:

=================  =============  =============================================================
``weight``         ``[H, C]``     of the last layer
``bias``           ``[C]``
``train_features`` ``[n, H]``     of training images, as the last layer sees them, float32
``train_labels``   ``[n]``        their classes
``test_features``  ``[m, H]``     of validation images
``test_labels``    ``[m]``
``ood_features``   ``[k, H]``     of ImageNet-O
``adv_features``   ``[j, H]``     of ImageNet-A
``networks_test``  ``[E, m, C]``  optional: logits of E further networks, for the row "DE (all)";
                                  with it, ``networks_ood`` ``[E, k, C]``, ``networks_adv``
                                  ``[E, j, C]``
=================  =============  =============================================================

Logits of the given network are not asked for: they follow from its features and last layer.
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

from uqbench.estimator import (
    Data,
    Dataset,
    Estimator,
    Predict,
    PredictiveUncertainty,
    ReferenceModel,
)
from uqbench.seeding import derive_seed
from uqbench_quam.given import GivenNetwork
from uqbench_quam.idx import DataError
from uqbench_quam.networks import HEAD, Mlp
from uqbench_quam.scores import detection, retention_auc
from uqbench_quam.uncertainty import state

VARIABLE = "UQBENCH_IMAGENET"
Arrays = Mapping[str, NDArray[np.generic]]
SETS = {"ood": "ood_features", "adversarial": "adv_features"}


@dataclass(frozen=True, kw_only=True)
class ImageNetOptions:
    """The problems of Table 2, setting (b).

    Attributes:
        against: ``ood``, ImageNet-O; ``adversarial``, the natural adversarial examples of
            ImageNet-A; ``errors``, validation images that the given network gets wrong.
        points: images of either side, at most; all where there are fewer.
    """

    against: Literal["ood", "adversarial", "errors"] = "ood"
    points: int = 2_000


class ImageNet(Dataset):
    """See :class:`ImageNetOptions`. Inputs are features; the given model is the last layer."""

    def __init__(self, options: ImageNetOptions) -> None:
        self.options = options
        self.arrays = features(data_file())
        width, self.n_classes = self.arrays["weight"].shape
        self.inputs = (width,)

    def data(self, seeds: Sequence[int]) -> Data:
        """All training features, in the order of the lane's seed."""
        index = np.stack([_order("train", s, len(self.arrays["train_labels"])) for s in seeds])
        return Data(
            torch.from_numpy(self.arrays["train_features"][index].astype(np.float32)),
            torch.from_numpy(self.arrays["train_labels"][index].astype(np.int64)),
        )

    def reference_model(self, seeds: Sequence[int]) -> GivenNetwork:
        """The last layer that the file holds, the same for every seed."""
        parts = (self.arrays["weight"], self.arrays["bias"][None])
        weights = {
            name: torch.from_numpy(part.astype(np.float32)).expand(len(seeds), *part.shape).clone()
            for name, part in zip(HEAD, parts, strict=True)
        }
        return GivenNetwork(Mlp(self.inputs[0], (), self.n_classes), weights)

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """``auroc``, ``aupr``, ``fpr95`` of the detection, ``retention_auc`` of validation images.

        Raises:
            ValueError: the given network gets all or none of the validation images right, against
                ``errors``.
        """
        index = self._chosen("test_labels", seeds)
        tested = torch.from_numpy(self.arrays["test_features"][index].astype(np.float32))
        labels = torch.from_numpy(self.arrays["test_labels"][index].astype(np.int64))
        right = self.reference_model(seeds).log_probs(tested).argmax(-1) == labels
        known = predict(tested).epistemic
        retained = {"retention_auc": retention_auc(known, right)}
        if self.options.against != "errors":
            name = SETS[self.options.against]
            others = self.arrays[name][self._chosen(name, seeds)].astype(np.float32)
            return detection(predict(torch.from_numpy(others)).epistemic, known) | retained
        if (right.all(-1) | ~right.any(-1)).any():
            raise ValueError(
                "the given network gets all, or none, of the validation images right, so that "
                "there is nothing to detect; give more of them"
            )
        lanes = [detection(s[None, ~r], s[None, r]) for s, r in zip(known, right, strict=True)]
        return {name: torch.cat([lane[name] for lane in lanes]) for name in lanes[0]} | retained

    def _chosen(self, name: str, seeds: Sequence[int]) -> NDArray[np.int64]:
        orders = [_order(name, seed, len(self.arrays[name])) for seed in seeds]
        return np.stack(orders)[:, : self.options.points]


@dataclass(frozen=True)
class NetworksConfig:
    """There is nothing to set."""


class FurtherNetworks(Estimator):
    """The ensemble of further networks whose logits the file holds ("DE (all)").

    An input is known by its features, so it can be asked about the images of the file alone.
    """

    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: NetworksConfig, device: torch.device
    ) -> None:
        if not isinstance(task, ImageNet):
            raise TypeError(f"expected the dataset ood-imagenet, got a {type(task).__name__}")
        if "networks_test" not in task.arrays:
            raise DataError(f"{data_file()} has no logits of further networks (networks_test)")
        self.logits: dict[bytes, NDArray[np.float64]] = {}
        for images, logits in (
            ("test_features", "networks_test"),
            ("ood_features", "networks_ood"),
            ("adv_features", "networks_adv"),
        ):
            rows = task.arrays[images].astype(np.float32)
            members = task.arrays[logits].astype(np.float64)
            self.logits |= {row.tobytes(): members[:, i] for i, row in enumerate(rows)}

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Take the given model; the networks were trained elsewhere."""
        self.reference = reference

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """What the networks state about the given model."""
        rows = inputs.numpy().reshape(-1, inputs.shape[-1])
        members = np.stack([self.logits[row.tobytes()] for row in rows], axis=1)
        logits = torch.from_numpy(members).unflatten(1, tuple(inputs.shape[:2]))
        return state(self.reference, inputs, logits.log_softmax(-1))


def data_file() -> Path:
    """The file that the user named.

    Raises:
        DataError: none was named, or it is not there.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        raise DataError(
            f"set the environment variable {VARIABLE} to a .npz file of features, as described in "
            f"the documentation of {__name__}"
        )
    if not Path(named).is_file():
        raise DataError(f"{VARIABLE} names {named}, which is no file")
    return Path(named)


@cache
def features(path: Path) -> Arrays:
    """The arrays of the file, their shapes checked.

    Raises:
        DataError: an array is missing, or of a shape that does not go with the others.
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
                    f"{letter} = {sizes[letter]} as in the arrays before"
                )
    return arrays


def _order(name: str, seed: int, count: int) -> NDArray[np.int64]:
    return np.random.default_rng(derive_seed("imagenet", name, seed)).permutation(count)
