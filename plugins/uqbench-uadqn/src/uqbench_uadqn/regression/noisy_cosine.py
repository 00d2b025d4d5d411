"""Two clusters of noisy points of a cosine: Clements et al. 2019, Figure 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi

import numpy as np
import torch
from torch import Tensor

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predictions
from uqbench.contract.seeding import derive_seed
from uqbench_uadqn.regression.config import NoisyCosineConfig
from uqbench_uadqn.regression.scores import epistemic_scores

CLUSTERS = ((-1.0, 1 / 4), (0.5, 1 / 6))
"""Mean and standard deviation of the inputs of each half."""
FAR = 5.0
"""Standard deviations from both clusters beyond which a point is off the data."""
RANGE = (-3.0, 2.5)
TEST_POINTS = 400


def target(x: Tensor) -> Tensor:
    """``cos(2πx)``, without noise."""
    return (2 * pi * x).cos()


class NoisyCosine(Dataset):
    """Two clusters of noisy points of a cosine; the noise is known.

    Test points on the data are a fresh sample of the inputs.

    Source: Clements et al. 2019, Figure 1
    """

    inputs = (1,)
    n_classes = 0

    def __init__(self, config: NoisyCosineConfig) -> None:
        self.config = config

    def data(self, seeds: Sequence[int]) -> Data:
        """``n`` points per lane, float32."""
        inputs, targets = [], []
        for seed in seeds:
            generator = np.random.default_rng(derive_seed("train", seed))
            x = _inputs(generator, self.config.points)
            noise = generator.normal(0, self.config.noise, len(x))
            inputs.append(torch.from_numpy(x))
            targets.append(target(inputs[-1]) + torch.from_numpy(noise))
        return Data(torch.stack(inputs).float()[..., None], torch.stack(targets).float())

    def reference_model(self, seeds: Sequence[int]) -> None:
        """Setting (a): there is no reference model."""

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """``on``, a fresh sample of the inputs, and ``off``, far from both clusters."""
        generators = [np.random.default_rng(derive_seed("test", seed)) for seed in seeds]
        on = np.stack([_inputs(generator, TEST_POINTS) for generator in generators])
        return {
            "on": EvaluationSet(torch.from_numpy(on).float()[..., None]),
            "off": EvaluationSet(off_data().expand(len(seeds), -1)[..., None]),
        }

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """The epistemic scores, and how well the noise is predicted.

        ``aleatoric_error`` is the mean over points on the data of ``|predicted std − true std|``,
        ``aleatoric_on`` and ``aleatoric_off`` the root of the mean predicted variance.
        """
        on, off = (predictions[name].predicted for name in ("on", "off"))
        noise = self.config.noise
        return {
            **epistemic_scores(on, off),
            "aleatoric_error": (on.aleatoric.sqrt() - noise).abs().mean(-1),
            "aleatoric_on": on.aleatoric.mean(-1).sqrt(),
            "aleatoric_off": off.aleatoric.mean(-1).sqrt(),
        }


def off_data() -> Tensor:
    """Points of a grid over ``RANGE`` that are far from both clusters, ``[M]``."""
    x = torch.linspace(*RANGE, 201)
    far = torch.stack([(x - mean).abs() > FAR * std for mean, std in CLUSTERS]).all(0)
    return x[far]


def _inputs(
    generator: np.random.Generator, points: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    halves = [generator.normal(mean, std, points // 2) for mean, std in CLUSTERS]
    return np.sort(np.concatenate(halves))
