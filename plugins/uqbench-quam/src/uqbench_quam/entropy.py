"""The given model by itself: its entropy as the score (the paper's column "Reference")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench_quam.uncertainty import entropy


@dataclass(frozen=True)
class ReferenceConfig:
    """There is nothing to set."""


class ReferenceEntropy(Estimator):
    """States the given model's aleatoric uncertainty where an epistemic one is asked for.

    A baseline: what an estimate of the epistemic uncertainty has to add to. The total is still the
    sum, twice the entropy, so only the order of points means something.
    """

    def __init__(
        self, task: Dataset, seeds: Sequence[int], config: ReferenceConfig, device: torch.device
    ) -> None:
        self.config = config

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Take the given model; nothing is learned.

        Raises:
            ValueError: there is none.
        """
        if reference is None:
            raise ValueError("expected a given model, setting (b); this task gives none")
        self.reference = reference

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Its entropy, twice."""
        log_probs = self.reference.log_probs(inputs)
        stated = entropy(log_probs)
        return PredictiveUncertainty(2 * stated, stated, stated, log_probs.exp(), "nats")
