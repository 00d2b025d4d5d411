"""Two moons, with a reference model and a score of what is stated off the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.estimator import Data, Dataset, Predict
from uqbench.seeding import derive_seed
from uqbench_quam.config import TwoMoonsOptions
from uqbench_quam.networks import Classifiers, fit

REFERENCE_STEPS = 300
REFERENCE_HIDDEN = (100, 100)
FAR = 1.0
"""A point farther than this from every point of the noiseless moons is off the data."""


class TwoMoons(Dataset):
    """See :class:`TwoMoonsOptions`. Test points are a fresh sample of the same size."""

    inputs = (2,)
    n_classes = 2

    def __init__(self, options: TwoMoonsOptions) -> None:
        self.options = options

    def data(self, seeds: Sequence[int]) -> Data:
        """``n`` points a lane, ``n/2`` of each class."""
        return self._sample([derive_seed("train", seed) for seed in seeds])

    def reference(self, seeds: Sequence[int]) -> GivenModel | None:
        """A network trained on the lane's data, a function of (options, seed) alone."""
        if self.options.setting == "selected":
            return None
        own = [derive_seed("reference", seed) for seed in seeds]
        network = Classifiers(own, 1, 2, REFERENCE_HIDDEN, self.n_classes)
        fit(network, self.data(seeds), REFERENCE_STEPS, learning_rate=1e-2, weight_decay=1e-3)
        return GivenModel(network)

    def score(self, seeds: Sequence[int], predict: Predict) -> Mapping[str, Tensor]:
        """``accuracy`` and ``nll`` on test points; ``off_data_auroc`` of the epistemic part.

        The last is the probability that a point off the data is stated to have more epistemic
        uncertainty than a test point, ties counted half.
        """
        test = self._sample([derive_seed("test", seed) for seed in seeds])
        on = predict(test.inputs)
        if on.probs is None:
            raise ValueError("expected class probabilities from an estimator of two-moons")
        right = on.probs.gather(-1, test.targets[..., None]).squeeze(-1)
        off = predict(off_data_grid().expand(len(seeds), -1, -1))
        return {
            "accuracy": (on.probs.argmax(-1) == test.targets).double().mean(-1),
            "nll": -right.clamp(min=1e-12).log().mean(-1),
            "off_data_auroc": auroc(off.epistemic, on.epistemic),
        }

    def _sample(self, seeds: Sequence[int]) -> Data:
        half = self.options.points // 2
        inputs = []
        for seed in seeds:
            noise = np.random.default_rng(seed).normal(0, self.options.noise, (2 * half, 2))
            inputs.append(torch.from_numpy(moons(half) + noise).float())
        targets = torch.arange(2).repeat_interleave(half).expand(len(seeds), -1)
        return Data(torch.stack(inputs), targets)


class GivenModel:
    """One network a lane as the given model."""

    def __init__(self, network: Classifiers) -> None:
        self._network = network

    def log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes, ``[L, M, C]``."""
        return self._network.members_log_probs(inputs)[0]


def moons(half: int) -> NDArray[np.float64]:
    """The noiseless points ``[2 * half, 2]``: the upper moon, then the lower one."""
    angle = np.linspace(0, np.pi, half)
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    return np.concatenate([upper, lower])


def off_data_grid() -> Tensor:
    """Points of a 25 × 25 grid over [-3, 4] × [-3, 3.5] that are off the data, ``[M, 2]``."""
    x, y = np.meshgrid(np.linspace(-3, 4, 25), np.linspace(-3, 3.5, 25))
    grid = np.stack([x.ravel(), y.ravel()], 1)
    distance = np.linalg.norm(grid[:, None] - moons(200)[None], axis=-1).min(1)
    return torch.from_numpy(grid[distance > FAR]).float()


def auroc(positive: Tensor, negative: Tensor) -> Tensor:
    """``P(positive > negative) + ½ P(equal)`` of each lane: ``[L, P]``, ``[L, N]`` → ``[L]``."""
    difference = positive[:, :, None] - negative[:, None, :]
    return ((difference > 0).double() + 0.5 * (difference == 0).double()).mean((1, 2))
