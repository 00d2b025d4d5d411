"""Deep ensembles (Lakshminarayanan et al. 2017) as an estimator of predictive uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, Reference
from uqbench_quam.config import DeepEnsembleConfig
from uqbench_quam.networks import Classifiers, fit
from uqbench_quam.uncertainty import given, selected


class DeepEnsemble(Estimator):
    """Networks that differ in their initial weights, trained independently on the same data."""

    def __init__(
        self,
        task: Dataset,
        seeds: Sequence[int],
        config: DeepEnsembleConfig,
        device: torch.device,
    ) -> None:
        self.config = config
        self.device = device
        self.reference: Reference | None = None
        self.networks = Classifiers(
            seeds, config.members, prod(task.inputs), config.hidden, task.n_classes
        ).to(device)

    def fit(self, data: Data, reference: Reference | None, steps: int) -> None:
        """Train every member; a reference makes this setting (b)."""
        self.reference = reference
        data = Data(data.inputs.to(self.device), data.targets.to(self.device))
        fit(self.networks, data, steps, self.config.learning_rate, self.config.weight_decay)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """What the members state, about themselves (a) or about the given model (b)."""
        members = self.networks.members_log_probs(inputs.to(self.device)).cpu()
        if self.reference is None:
            return selected(members)
        return given(self.reference.log_probs(inputs), members)
