"""Two moons: epistemic uncertainty against Hamiltonian Monte Carlo's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from uqbench_compare.predictions.detection import rank_correlation

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predictions
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.networks.reference import ReferenceNetwork
from uqbench_predictive.networks.training import TrainingConfig, trained_reference
from uqbench_predictive.problems.ground_truth import ClassTruth, read

DATASETS = 24
"""With ground truth; a run's number is its data set's."""
POINTS = 100
NOISE = 0.1
"""Standard deviation of the normal noise on each coordinate."""
TEST_EVERY = 5
"""Every fifth of 100 fresh points tests predictions: every point costs a search."""
REFERENCE_STEPS = 500
REFERENCE = TrainingConfig(hidden=(100, 100), learning_rate=1e-2, weight_decay=1e-3)


@dataclass(frozen=True, kw_only=True)
class TwoMoonsConfig:
    """Which setting.

    Attributes:
        setting: ``selected``, Schweighofer et al. 2023's (a), where the model is to be selected; or
            ``given``, their (b), with a reference model, the same for every estimator.
    """

    setting: Literal["selected", "given"] = "given"


class TwoMoons(Dataset):
    """Two interleaving half circles; epistemic uncertainty against HMC's.

    They have radius 1, one per class, 50 noisy points each. The paper's network has two hidden
    layers of 100 units.

    Source: Schweighofer et al. 2023, Figures 3 and C.3
    """

    inputs = (2,)
    n_classes = 2
    n_datasets = DATASETS

    def __init__(self, config: TwoMoonsConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """100 points per lane, half of them of each class."""
        return sample([derive_seed("two-moons", seed) for seed in seeds])

    def reference_model(self, seeds: Sequence[int]) -> ReferenceNetwork | None:
        """A network trained on the lane's data, a function of the data set alone."""
        if self.config.setting == "selected":
            return None
        return trained_reference(self, "two-moons", seeds, REFERENCE, REFERENCE_STEPS)

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The grid, and twenty fresh points."""
        test = sample([derive_seed("two-moons", "test", seed) for seed in seeds])
        inputs, targets = test.inputs[:, ::TEST_EVERY], test.targets[:, ::TEST_EVERY]
        return {
            "grid": EvaluationSet(grid().expand(len(seeds), -1, -1)),
            "test": EvaluationSet(inputs, targets),
        }

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """Distance of the epistemic uncertainty from the ground truth's, and test predictions.

        ``rank_correlation`` and ``mae`` (nats) over the grid, ``corner_mae`` over its far corners
        only; ``accuracy`` and ``nll`` on the fresh points.

        Raises:
            ValueError: the estimator predicts no class probabilities.
        """
        predicted = predictions["grid"].predicted.epistemic
        epistemic = ground_truth().of(seeds).epistemic(predictions["grid"].reference)
        error = (predicted - epistemic).abs()
        test = predictions["test"]
        probs, targets = test.predicted.probs, test.targets
        if probs is None or targets is None:
            raise ValueError(
                "expected class probabilities from an estimator of two-moons, got None"
            )
        likelihood = probs.gather(-1, targets[..., None]).squeeze(-1)
        return {
            "rank_correlation": torch.from_numpy(rank_correlation(predicted, epistemic)),
            "mae": error.mean(-1),
            "corner_mae": error[:, far_corners()].mean(-1),
            "accuracy": (probs.argmax(-1) == targets).double().mean(-1),
            "nll": -likelihood.clamp(min=1e-12).log().mean(-1),
        }


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
    """Hamiltonian Monte Carlo's prediction on the grid, for each data set."""
    return ClassTruth(read("two-moons"))
