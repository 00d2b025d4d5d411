"""The reference model alone: its entropy as the score (the paper's column "Reference")."""

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
from uqbench_predictive.uncertainty import entropy


@dataclass(frozen=True)
class ReferenceEntropyConfig:
    """Nothing to configure."""


class ReferenceEntropy(Estimator):
    """The reference model's entropy as the order of inputs; it states no epistemic uncertainty.

    The baseline that an estimate of the epistemic uncertainty has to improve on.

    Source: Schweighofer et al. 2023, Tables 1 and 2, column Reference
    """

    def __init__(
        self,
        problem: Problem,
        seeds: Sequence[int],
        config: ReferenceEntropyConfig,
        device: torch.device,
    ) -> None: ...

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Take the reference model; nothing is learned.

        Raises:
            ValueError: there is none.
        """
        if reference_model is None:
            raise ValueError("expected a reference model, setting (b); this task has none")
        self.reference_model = reference_model

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The entropy, as the aleatoric part and as the score."""
        log_probs = self.reference_model.log_probs(inputs)
        own = entropy(log_probs)
        return PredictiveUncertainty(
            own, own, torch.zeros_like(own), log_probs.exp(), "nats", score=own
        )
