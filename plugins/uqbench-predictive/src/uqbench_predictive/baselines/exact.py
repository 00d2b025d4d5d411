"""What a known posterior predicts, and the prior: the best and the first rows of a testbed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench.contract.seeding import derive_seed
from uqbench_predictive.problems.known_classes import KnownClasses, LogisticPosterior
from uqbench_predictive.problems.known_regression import GaussianProcess, KnownRegression
from uqbench_predictive.problems.testbed import Posterior

LAWS: Mapping[str, Callable[[Tensor, Tensor], Posterior]] = {
    KnownRegression.law: GaussianProcess,
    KnownClasses.law: LogisticPosterior,
}
"""The posteriors given inputs ``[n, D]`` and targets ``[n]``, by the law of the problem."""


@dataclass(frozen=True)
class ExactConfig:
    """Nothing to configure."""


class Exact(Estimator):
    """The posterior predictive of a problem that knows it, with members of the posterior."""

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: ExactConfig, device: torch.device
    ) -> None:
        if problem.law is None or problem.law not in LAWS:
            raise ValueError(
                f"expected a problem whose posterior is known, of the law {' or '.join(LAWS)}; got "
                f"{problem.law or 'one without a law'}"
            )
        self.posterior, self.seeds = LAWS[problem.law], seeds

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take the data; nothing is learned."""
        self.data = data

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Exactly."""
        lanes = []
        for seed, own, targets, points in zip(
            self.seeds, self.data.inputs, self.data.targets, inputs, strict=True
        ):
            generator = torch.Generator().manual_seed(derive_seed("exact", seed))
            lanes.append(self.posterior(own, targets).predict(points.double(), generator))
        return stacked(lanes)


class Prior(Exact):
    """The prior predictive: what is known without the data."""

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take no data."""
        self.data = Data(data.inputs[:, :0], data.targets[:, :0])


def stacked(lanes: Sequence[PredictiveUncertainty]) -> PredictiveUncertainty:
    """The predictions of single lanes as one."""
    parts: dict[str, Any] = {}
    for field in fields(PredictiveUncertainty):
        values = [getattr(lane, field.name) for lane in lanes]
        is_tensor = isinstance(values[0], Tensor)
        dim = 1 if field.name == "members" else 0
        parts[field.name] = torch.stack(values, dim) if is_tensor else values[0]
    return PredictiveUncertainty(**parts)
