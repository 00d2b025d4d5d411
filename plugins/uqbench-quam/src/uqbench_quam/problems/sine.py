"""Regression of a sine from points in the middle (Figure C.4 and section C.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Predict
from uqbench.seeding import derive_seed
from uqbench_quam.problems.ground_truth import read
from uqbench_quam.problems.scores import rank_correlation

DATASETS = 4
"""Data sets with ground truth; a lane has the one of its seed modulo this."""
POINTS = 32
NOISE = 0.1
"""Standard deviation of the noise, as in the released code; the text can be read as variance."""


@dataclass(frozen=True, kw_only=True)
class SineConfig:
    """Nothing to configure."""


class Sine(Dataset):
    """Regression of a sine; standard deviation between models against HMC's.

    ``y = sin x + ε`` at 32 points in [-π, π]. Setting (a): the variance between models.

    Source: Schweighofer et al. 2023, Figure C.4
    """

    inputs = (1,)
    n_classes = 0

    def __init__(self, config: SineConfig) -> None: ...

    def data(self, seeds: Sequence[int]) -> Data:
        """32 points per lane."""
        inputs, targets = [], []
        for seed in seeds:
            generator = np.random.default_rng(derive_seed("sine", dataset_index(seed)))
            x = generator.uniform(-pi, pi, POINTS)
            inputs.append(torch.from_numpy(x).float()[:, None])
            targets.append(torch.from_numpy(np.sin(x) + generator.normal(0, NOISE, POINTS)).float())
        return Data(torch.stack(inputs), torch.stack(targets))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """Distance of the epistemic standard deviation from the ground truth's.

        ``std_mae`` over [-6, 6], ``outside_std_mae`` where there are no data, |x| > π, and
        ``rank_correlation`` over all; ``rmse`` of the mean from the sine where there are data.

        Raises:
            ValueError: the estimator predicts no mean and variances.
        """
        datasets = [dataset_index(seed) for seed in seeds]
        truth = torch.from_numpy(read("sine")["std"][datasets]).double()  # [L, G]
        x = grid()
        predicted = predict(x[:, None].expand(len(seeds), -1, -1))
        if predicted.mean is None or predicted.unit != "variance":
            raise ValueError("expected a mean and variances from an estimator of the sine")
        std = predicted.epistemic.clamp(min=0).sqrt()
        error = (std - truth).abs()
        inside = x.abs() <= pi
        residual = (predicted.mean - x.sin())[:, inside]
        return {
            "std_mae": error.mean(-1),
            "outside_std_mae": error[:, ~inside].mean(-1),
            "rank_correlation": rank_correlation(std, truth),
            "rmse": residual.square().mean(-1).sqrt(),
        }


def dataset_index(seed: int) -> int:
    """Which data set a lane has."""
    return seed % DATASETS


def grid() -> Tensor:
    """60 points in [-6, 6]."""
    return torch.linspace(-6, 6, 60)
