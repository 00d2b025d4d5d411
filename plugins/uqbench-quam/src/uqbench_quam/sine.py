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
from uqbench_quam.scores import rank_correlation
from uqbench_quam.truth import read

WORLDS = 4
"""Data sets on which ground truth is known; a lane has that of its seed modulo this."""
POINTS = 32
NOISE = 0.1
"""Standard deviation of the noise: the released code's. The text can be read as the variance."""


@dataclass(frozen=True, kw_only=True)
class SineOptions:
    """``y = sin x + ε`` at 32 points in [-π, π]; there is nothing to set."""


class Sine(Dataset):
    """See :class:`SineOptions`. Setting (a): the variance between models."""

    inputs = (1,)
    n_classes = 0

    def __init__(self, options: SineOptions) -> None:
        self.options = options

    def data(self, seeds: Sequence[int]) -> Data:
        """32 points a lane."""
        inputs, targets = [], []
        for seed in seeds:
            generator = np.random.default_rng(derive_seed("sine", world(seed)))
            x = generator.uniform(-pi, pi, POINTS)
            inputs.append(torch.from_numpy(x).float()[:, None])
            targets.append(torch.from_numpy(np.sin(x) + generator.normal(0, NOISE, POINTS)).float())
        return Data(torch.stack(inputs), torch.stack(targets))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: the figure is about the models that could be selected."""
        return

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """How close the epistemic standard deviation is to the ground truth's.

        ``std_mae`` over [-6, 6], ``outside_std_mae`` where there are no data, |x| > π, and
        ``rank_correlation`` over all; ``rmse`` of the mean from the sine where there are data.
        """
        worlds = [world(seed) for seed in seeds]
        truth = torch.from_numpy(read("sine")["std"][worlds]).double()  # [L, G]
        x = grid()
        stated = predict(x[:, None].expand(len(seeds), -1, -1))
        if stated.mean is None or stated.unit != "variance":
            raise ValueError("expected a mean and variances from an estimator of the sine")
        std = stated.epistemic.clamp(min=0).sqrt()
        error = (std - truth).abs()
        inside = x.abs() <= pi
        residual = (stated.mean - x.sin())[:, inside]
        return {
            "std_mae": error.mean(-1),
            "outside_std_mae": error[:, ~inside].mean(-1),
            "rank_correlation": rank_correlation(std, truth),
            "rmse": residual.square().mean(-1).sqrt(),
        }


def world(seed: int) -> int:
    """Which data set a lane has."""
    return seed % WORLDS


def grid() -> Tensor:
    """60 points in [-6, 6]."""
    return torch.linspace(-6, 6, 60)
