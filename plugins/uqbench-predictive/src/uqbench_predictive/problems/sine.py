"""Regression of a sine from points in the middle (Figure C.4 and section C.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi

import numpy as np
import torch
from torch import Tensor
from uqbench_compare.predictions.detection import rank_correlation

from uqbench.contract.estimator import Data, Dataset, EvaluationSet, Predictions
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.problems.ground_truth import read

DATASETS = 24
"""With ground truth; a run's number is its data set's."""
CHECKED_BY_HMC = 4
"""So many of them have Hamiltonian Monte Carlo's standard deviation, too."""
POINTS = 32
NOISE = 0.1
"""Standard deviation of the noise, as in the released code; the text can be read as variance."""
NOISE_VAR = 0.1
"""That the likelihood assumes, in HMC and in the closed form, as in the released code."""
PRIORS = {"suite": (2.0, (2.0, 2.0, 2.0)), "paper": (1.0, (200.0, 200.0, 200.0))}
"""Priors of three hidden layers of 200 units, as variances of their infinite width.

``suite``: weights of variance ``2 / inputs of the layer``. ``paper``: variance 1 everywhere, as in
the released code. Biases have variance 1 in both. See
:mod:`uqbench_predictive.problems.infinite_width`.
"""


@dataclass(frozen=True, kw_only=True)
class SineConfig:
    """Nothing to configure."""


class Sine(Dataset):
    """Regression of a sine; standard deviation between models against the exact one.

    ``y = sin x + ε`` at 32 points in [-π, π]. Setting (a): the variance between models. The truth
    is that of an infinitely wide network, in closed form.

    Source: Schweighofer et al. 2023, Figure C.4
    """

    inputs = (1,)
    n_classes = 0
    n_datasets = DATASETS

    def __init__(self, config: SineConfig) -> None: ...

    def data(self, seeds: Sequence[int]) -> Data:
        """32 points per lane."""
        inputs, targets = [], []
        for seed in seeds:
            generator = np.random.default_rng(derive_seed("sine", seed))
            x = generator.uniform(-pi, pi, POINTS)
            inputs.append(torch.from_numpy(x).float()[:, None])
            targets.append(torch.from_numpy(np.sin(x) + generator.normal(0, NOISE, POINTS)).float())
        return Data(torch.stack(inputs), torch.stack(targets))

    def reference_model(self, seeds: Sequence[int]) -> None:
        """None: setting (a)."""
        return

    def evaluation_sets(self, seeds: Sequence[int]) -> Mapping[str, EvaluationSet]:
        """The grid, and the sine there."""
        inputs = grid()[:, None].expand(len(seeds), -1, -1)
        return {"grid": EvaluationSet(inputs, inputs.squeeze(-1).sin())}

    def score(
        self, seeds: Sequence[int], predictions: Mapping[str, Predictions]
    ) -> Mapping[str, Tensor]:
        """Distance of the epistemic standard deviation from the truth under either prior.

        ``std_mae`` over [-6, 6], ``outside_std_mae`` where there are no data, |x| > π, and
        ``rank_correlation`` over all, under the suite's prior; the same with ``paper_prior_`` in
        front under the paper's. ``outside_std``, the mean that the estimator predicts there, and
        ``rmse`` of the mean from the sine where there are data.

        Raises:
            ValueError: the estimator predicts no mean and variances.
        """
        x, predicted = grid(), predictions["grid"].predicted
        if predicted.mean is None or predicted.unit != "variance":
            raise ValueError("expected a mean and variances from an estimator of the sine")
        std = predicted.epistemic.clamp(min=0).sqrt()
        inside = x.abs() <= pi
        scores: dict[str, Tensor] = {}
        for prior, prefix in (("suite", ""), ("paper", "paper_prior_")):
            truth = ground_truth(prior, seeds)
            error = (std - truth).abs()
            scores |= {
                f"{prefix}std_mae": error.mean(-1),
                f"{prefix}outside_std_mae": error[:, ~inside].mean(-1),
                f"{prefix}rank_correlation": torch.from_numpy(rank_correlation(std, truth)),
            }
        residual = (predicted.mean - x.sin())[:, inside]
        return scores | {
            "outside_std": std[:, ~inside].mean(-1),
            "rmse": residual.square().mean(-1).sqrt(),
        }


def ground_truth(prior: str, datasets: Sequence[int]) -> Tensor:
    """Standard deviation of the function on the grid under one of :data:`PRIORS`, ``[D, 60]``."""
    return torch.from_numpy(read("sine")[f"{prior}_std"][list(datasets)]).double()


def grid() -> Tensor:
    """60 points in [-6, 6]."""
    return torch.linspace(-6, 6, 60)
