"""Two moons, scored by the epistemic uncertainty that Hamiltonian Monte Carlo finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.estimator import Data, Dataset, Predict
from uqbench.seeding import derive_seed
from uqbench_quam.config import TrainingConfig
from uqbench_quam.given import GivenNetwork, architecture, train
from uqbench_quam.scores import rank_correlation
from uqbench_quam.truth import ClassTruth, read

WORLDS = 6
"""Data sets on which ground truth is known; a lane has that of its seed modulo this."""
POINTS = 100
NOISE = 0.1
"""Standard deviation of the normal noise on each coordinate."""
TEST_EVERY = 5
"""Of 100 fresh points the twenty on which predictions are tested: every point is a search."""
REFERENCE_STEPS = 500
REFERENCE = TrainingConfig(hidden=(100, 100), learning_rate=1e-2, weight_decay=1e-3)


@dataclass(frozen=True, kw_only=True)
class TwoMoonsOptions:
    """Two moons: two interleaving half circles of radius 1, one a class, 50 noisy points of each.

    Attributes:
        setting: ``selected``, Schweighofer et al. 2023's (a), or ``given``, their (b): a reference
            model, the same for every estimator.
    """

    setting: Literal["selected", "given"] = "given"


class TwoMoons(Dataset):
    """See :class:`TwoMoonsOptions`. The paper's network has two hidden layers of 100 units."""

    inputs = (2,)
    n_classes = 2

    def __init__(self, options: TwoMoonsOptions) -> None:
        self.options = options

    def data(self, seeds: Sequence[int]) -> Data:
        """100 points a lane, half of them of each class."""
        return sample([derive_seed("two-moons", world(seed)) for seed in seeds])

    def reference_model(self, seeds: Sequence[int]) -> GivenNetwork | None:
        """A network trained on the lane's data, a function of the data set alone."""
        if self.options.setting == "selected":
            return None
        network = architecture(self, REFERENCE)
        own = [derive_seed("two-moons", "reference", world(seed)) for seed in seeds]
        return GivenNetwork(
            network, train(network, self.data(seeds), own, REFERENCE_STEPS, REFERENCE)
        )

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """How close the epistemic uncertainty is to the ground truth's, and test predictions.

        ``rank_correlation`` and ``mae`` (nats) over the grid, ``corner_mae`` over its far corners
        alone; ``accuracy`` and ``nll`` on twenty fresh points.
        """
        truth = ground_truth().of([world(seed) for seed in seeds])
        points = grid().expand(len(seeds), -1, -1)
        stated = predict(points)
        if stated.probs is None:
            raise ValueError("expected class probabilities from an estimator of two-moons")
        reference = self.reference_model(seeds)
        epistemic = (
            truth.selected() if reference is None else truth.given(reference.log_probs(points))
        )
        error = (stated.epistemic - epistemic).abs()
        test = sample([derive_seed("two-moons", "test", world(seed)) for seed in seeds])
        targets = test.targets[:, ::TEST_EVERY]
        probs = predict(test.inputs[:, ::TEST_EVERY]).probs
        assert probs is not None
        right = probs.gather(-1, targets[..., None]).squeeze(-1)
        return {
            "rank_correlation": rank_correlation(stated.epistemic, epistemic),
            "mae": error.mean(-1),
            "corner_mae": error[:, far_corners()].mean(-1),
            "accuracy": (probs.argmax(-1) == targets).double().mean(-1),
            "nll": -right.clamp(min=1e-12).log().mean(-1),
        }


def world(seed: int) -> int:
    """Which data set a lane has."""
    return seed % WORLDS


def sample(seeds: Sequence[int]) -> Data:
    """Noisy points, the upper moon's first, ``[L, 100, 2]``."""
    half = POINTS // 2
    inputs = []
    for seed in seeds:
        noise = np.random.default_rng(seed).normal(0, NOISE, (POINTS, 2))
        inputs.append(torch.from_numpy(moons(half) + noise).float())
    targets = torch.arange(2).repeat_interleave(half).expand(len(seeds), -1)
    return Data(torch.stack(inputs), targets.contiguous())


def moons(half: int) -> NDArray[np.float64]:
    """The noiseless points ``[2 * half, 2]``: the upper moon, then the lower one."""
    angle = np.linspace(0, np.pi, half)
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    return np.concatenate([upper, lower])


def grid() -> Tensor:
    """A 15 × 15 grid over [-3, 4] × [-3, 3.5], ``[225, 2]``."""
    x, y = np.meshgrid(np.linspace(-3, 4, 15), np.linspace(-3, 3.5, 15))
    return torch.from_numpy(np.stack([x.ravel(), y.ravel()], 1)).float()


def far_corners() -> Tensor:
    """Which points of the grid lie far from the boundary, top left or bottom right, ``[225]``."""
    x, y = grid().unbind(-1)
    return ((x <= -1) & (y >= 1.5)) | ((x >= 2) & (y <= -1))


def ground_truth() -> ClassTruth:
    """What Hamiltonian Monte Carlo says on the grid, for each of the data sets."""
    return ClassTruth(read("two-moons"))
