"""Detection on 28 × 28 images with a LeNet as the reference model, from files of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.estimator import Data, EvaluationSet
from uqbench_predictive.networks.architectures import LeNet, Weights
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import TrainingConfig, trained_reference
from uqbench_predictive.problems.detection import Detection, order
from uqbench_predictive.problems.idx import File
from uqbench_predictive.problems.image_files import data_folder, images_of, labels_of

DROPOUT = 0.2
"""Before the last layer of the reference model."""
_REFERENCES: dict[tuple[str, int], Weights] = {}


class LeNetDetection(Detection):
    """Gray images that a LeNet classifies, and others, in setting (b).

    A data set provides :meth:`outside` and these:

    Attributes:
        name: of its streams of random numbers.
        files: ``train-images``, ``train-labels``, ``test-images``, ``test-labels``, and those that
            :meth:`outside` reads.
        mean: of its gray values in [0, 1].
        deviation: theirs; all images are normalized by the two.
        trained: training images; None for all.
        training: of the reference model.
        steps: of that training.
        points: images on either side.
    """

    inputs = (28, 28)
    n_classes = 10
    name: str
    files: Mapping[str, File]
    mean: float
    deviation: float
    trained: int | None = None
    training: TrainingConfig
    steps: int

    def __init__(self, points: int) -> None:
        self.points = points

    def data(self, seeds: Sequence[int]) -> Data:
        """The training images per lane, in the order of its seed, normalized."""
        return Data(*self._images("train", seeds, self.trained))

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork:
        """A LeNet trained with dropout on the lane's images; kept for this process' next tasks."""
        for seed in seeds:
            if (self.name, seed) not in _REFERENCES:
                own = trained_reference(self, self.name, [seed], self.training, self.steps, DROPOUT)
                _REFERENCES[self.name, seed] = own.weights
        each = [_REFERENCES[self.name, seed] for seed in seeds]
        weights = {name: torch.cat([own[name] for own in each]) for name in each[0]}
        return ReferenceNetwork(LeNet(self.n_classes), weights)

    def inside(self, seeds: Sequence[int]) -> EvaluationSet:
        """Test images, in an order of the lane's own."""
        return EvaluationSet(*self._images("test", seeds, self.points))

    @property
    def folder(self) -> Path:
        """Where the user's files are."""
        return data_folder(self.files.values())

    def chosen(
        self, name: str, seeds: Sequence[int], count: int, kept: int | None
    ) -> NDArray[np.int64]:
        """Which of ``count`` images each lane has, ``[L, kept]``: the first in its order."""
        return np.stack([order(self.name, name, seed, count=count) for seed in seeds])[:, :kept]

    @classmethod
    def normalized(cls, images: NDArray[np.uint8]) -> Tensor:
        """From gray values 0 to 255 to the network's inputs, float32."""
        scaled = (images.astype(np.float32) / 255 - cls.mean) / cls.deviation
        return torch.from_numpy(scaled.astype(np.float32))

    def _images(self, part: str, seeds: Sequence[int], kept: int | None) -> tuple[Tensor, Tensor]:
        """Images ``[L, kept, 28, 28]`` and their classes."""
        images = images_of(self.folder, self.files[f"{part}-images"])
        labels = labels_of(self.folder, self.files[f"{part}-labels"])
        index = self.chosen(part, seeds, len(labels), kept)
        return self.normalized(images[index]), torch.from_numpy(labels[index])
