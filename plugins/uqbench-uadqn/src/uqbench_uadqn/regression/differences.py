"""A baseline without a network, for one input: noise by neighbours, the rest by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)


@dataclass(frozen=True)
class DifferencesConfig:
    """Nothing to configure."""


class Differences(Estimator):
    """The nearest point's target, one noise everywhere, the distance as epistemic deviation.

    The noise's variance is half the mean squared difference of targets whose inputs are neighbours.

    Source: Rice 1984, equation 2.8
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: DifferencesConfig,
        device: torch.device,
    ) -> None:
        if problem.n_classes or problem.inputs != (1,):
            raise ValueError(
                "expected values of one input; got "
                f"{problem.n_classes or 'no'} classes and inputs of shape {problem.inputs}"
            )

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Sort the points."""
        x, order = data.inputs[..., 0].double().sort()
        self.known, self.targets = x, data.targets.double().gather(1, order)
        self.noise = 0.5 * self.targets.diff().square().mean(1)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The prediction at inputs ``[L, M, 1]``."""
        distance, nearest = (inputs.double() - self.known[:, None]).abs().min(-1)
        noise, epistemic = self.noise[:, None].expand_as(distance), distance.square()
        mean = self.targets.gather(1, nearest)
        return PredictiveUncertainty(
            noise + epistemic, noise, epistemic, None, "variance", mean=mean
        )
