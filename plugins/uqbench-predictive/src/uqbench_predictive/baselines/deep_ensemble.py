"""Deep ensembles (Lakshminarayanan et al. 2017) as an estimator of predictive uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench_predictive.baselines.sample import NetworkSample
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.uncertainty import mean, setting_b


@dataclass(frozen=True, kw_only=True)
class DeepEnsembleConfig(TrainingConfig):
    """A deep ensemble.

    Attributes:
        members: number of networks.
        diverges_from: setting (b): what the members diverge from: the ``reference`` model, as for
            every estimator, or the members' ``mean``, as in the released code for MNIST.
    """

    members: int = 10
    diverges_from: Literal["reference", "mean"] = "reference"

    def __post_init__(self) -> None:
        if self.members < 1:
            raise ValueError(f"members must be at least 1, got {self.members}")


class DeepEnsemble(Estimator):
    """Independently trained networks.

    They differ in their initial weights and in the order of the same data.

    Source: Lakshminarayanan et al. 2017
    """

    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: DeepEnsembleConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(task, seeds, config, device)

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Train every member."""
        members = self.trainer.config.members
        data = self.trainer.to_device(data)
        weights = self.trainer.train(data, steps, members=members)
        self.sample = NetworkSample(self.trainer.network, weights, members, data, reference_model)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The members' disagreement (a), or their divergence from one prediction (b)."""
        if self.trainer.config.diverges_from == "reference" or self.sample.reference_model is None:
            return self.sample.predict(inputs)
        members = self.sample.outputs(inputs).log_softmax(-1)
        return setting_b(mean(members.exp()).log(), members)
