"""Detection on the 8 × 8 digits that scikit-learn brings along: real images, no download.

The problems of section 4.2 on a small scale, in setting (b): inputs from elsewhere told from test
images, misclassified test images told from the others, and selective prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor

from uqbench.estimator import Data, Dataset, Predict
from uqbench.seeding import derive_seed
from uqbench_quam.config import TrainingConfig
from uqbench_quam.given import GivenNetwork, architecture, train
from uqbench_quam.scores import detection, retention_auc

CLASSES = 8
"""Digits 0 to 7 are learned; 8 and 9 are held out."""
TRAINED = 100
TESTED = 100
"""Images of each side of a detection problem; for errors, twice as many test images."""
REFERENCE_STEPS = 300
REFERENCE = TrainingConfig(hidden=(50, 50), learning_rate=5e-3, weight_decay=1e-3)
REFERENCE_DROPOUT = 0.2


@dataclass(frozen=True, kw_only=True)
class DigitsOptions:
    """Which points are to be told from well-recognised test images by their uncertainty.

    Attributes:
        against: ``held-out`` digits 8 and 9; test images ``rotated`` by a quarter turn or
            ``inverted``; uniform ``noise``; or the test images that the given model gets wrong,
            ``errors``.
    """

    against: Literal["held-out", "rotated", "inverted", "noise", "errors"] = "held-out"


class Digits(Dataset):
    """See :class:`DigitsOptions`. Training, test and foreign images are a function of the seed."""

    inputs = (64,)
    n_classes = CLASSES

    def __init__(self, options: DigitsOptions) -> None:
        self.options = options

    def data(self, seeds: Sequence[int]) -> Data:
        """100 images a lane, grey values in [0, 1]."""
        images, labels = familiar()
        index = np.stack([split(seed)[:TRAINED] for seed in seeds])
        return Data(torch.from_numpy(images[index]), torch.from_numpy(labels[index]))

    def reference_model(self, seeds: Sequence[int]) -> GivenNetwork:
        """A network trained with dropout on the lane's images."""
        network = architecture(self, REFERENCE)
        own = [derive_seed("digits", "reference", seed) for seed in seeds]
        weights = train(
            network, self.data(seeds), own, REFERENCE_STEPS, REFERENCE, drop=REFERENCE_DROPOUT
        )
        return GivenNetwork(network, weights)

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """``auroc``, ``aupr`` and ``fpr95`` of the detection, ``retention_auc`` of test images.

        The last is the area under the given model's accuracy on those test images that are the most
        certain (selective prediction).

        Raises:
            ValueError: the given model gets no test image of a lane wrong, against ``errors``.
        """
        errors = self.options.against == "errors"
        images, labels = familiar()
        count = 2 * TESTED if errors else TESTED
        index = np.stack([split(seed)[TRAINED : TRAINED + count] for seed in seeds])
        tested, truth = torch.from_numpy(images[index]), torch.from_numpy(labels[index])
        right = self.reference_model(seeds).log_probs(tested).argmax(-1) == truth
        known = predict(tested).epistemic
        if not errors:
            return detection(predict(self.foreign(seeds)).epistemic, known) | {
                "retention_auc": retention_auc(known, right)
            }
        if right.all(-1).any():
            raise ValueError(
                f"the given model gets all of {count} test images right, so that there are no "
                f"errors to detect; take other seeds"
            )
        lanes = [detection(s[None, ~r], s[None, r]) for s, r in zip(known, right, strict=True)]
        return {name: torch.cat([lane[name] for lane in lanes]) for name in lanes[0]} | {
            "retention_auc": retention_auc(known, right)
        }

    def foreign(self, seeds: Sequence[int]) -> Tensor:
        """The inputs from elsewhere, ``[L, 100, 64]``."""
        return torch.stack([torch.from_numpy(self._foreign(seed)) for seed in seeds])

    def _foreign(self, seed: int) -> NDArray[np.float32]:
        generator = np.random.default_rng(derive_seed("digits", "foreign", seed))
        if self.options.against == "noise":
            return generator.random((TESTED, 64), dtype=np.float32)
        if self.options.against == "held-out":
            images, labels = digits()
            others = images[labels >= CLASSES]
            return others[generator.permutation(len(others))[:TESTED]]
        images, _ = familiar()
        tested = images[split(seed)[TRAINED : TRAINED + TESTED]]
        if self.options.against == "inverted":
            return 1 - tested
        turned = np.rot90(tested.reshape(-1, 8, 8), axes=(1, 2))
        return np.ascontiguousarray(turned).reshape(-1, 64)


@cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """All 1,797 images, ``[N, 64]`` in [0, 1], and their digits."""
    loaded = load_digits()
    return (loaded.data / 16).astype(np.float32), loaded.target.astype(np.int64)


def familiar() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The images of the classes that are learned."""
    images, labels = digits()
    return images[labels < CLASSES], labels[labels < CLASSES]


def split(seed: int) -> NDArray[np.int64]:
    """The order of a lane's images: those to train come first."""
    generator = np.random.default_rng(derive_seed("digits", "split", seed))
    return generator.permutation(len(familiar()[1]))
