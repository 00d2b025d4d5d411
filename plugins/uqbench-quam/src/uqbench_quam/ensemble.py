"""Deep ensembles (Lakshminarayanan et al. 2017) as an estimator of predictive uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench_quam.config import DeepEnsembleConfig
from uqbench_quam.given import architecture, on, train
from uqbench_quam.models import Models


class DeepEnsemble(Estimator):
    """Networks that differ in their initial weights, trained independently on the same data."""

    def __init__(
        self,
        task: Dataset,
        seeds: Sequence[int],
        config: DeepEnsembleConfig,
        device: torch.device,
    ) -> None:
        self.task = task
        self.seeds = seeds
        self.config = config
        self.device = device

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Train every member."""
        network = architecture(self.task, self.config)
        data = on(data, self.device)
        weights = train(network, data, self.seeds, steps, self.config, members=self.config.members)
        self.models = Models(network, weights, self.config.members, data, reference)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """What the members state, about themselves (a) or about the given model (b)."""
        return self.models.state(inputs)
