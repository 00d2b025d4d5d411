"""MC dropout (Gal & Ghahramani 2016): forward passes with units dropped as samples of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from uqbench.contract.config import LATER
from uqbench.contract.estimator import (
    Data,
    Estimator,
    PredictiveUncertainty,
    Problem,
    ReferenceModel,
)
from uqbench_predictive.networks.learning import Dropout, mean_loss
from uqbench_predictive.networks.reference import open_network
from uqbench_predictive.networks.training import Trainer, TrainingConfig
from uqbench_predictive.uncertainty import classification, regression


@dataclass(frozen=True, kw_only=True)
class MCDropoutConfig(TrainingConfig):
    """MC dropout.

    Attributes:
        passes: forward passes, each with its own masks.
        probability: p, of dropping a unit.
        trains: whether to train a network of its own with dropout. If not, units of the reference
            model are dropped, which was trained with dropout.
        shared: whether all inputs have the same masks in a pass, which then is a model that
            predicts them together.
    """

    passes: int = 1000
    probability: float = 0.2
    trains: bool = True
    shared: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        if not 0 <= self.probability < 1:
            raise ValueError(f"probability must be in [0, 1), got {self.probability}")
        if self.passes < 1:
            raise ValueError(f"passes must be at least 1, got {self.passes}")


class MCDropout(Estimator):
    """Forward passes with units dropped.

    One network per lane; in every pass every input has its own masks, or all have the same.

    Source: Gal & Ghahramani 2016
    """

    def __init__(
        self, problem: Problem, seeds: Sequence[int], config: MCDropoutConfig, device: torch.device
    ) -> None:
        self.trainer = Trainer(problem, seeds, config, device)
        self.config = config

    def fit(self, data: Data, reference_model: ReferenceModel | None, steps: int) -> None:
        """Train a network with dropout, or take the reference model.

        Raises:
            ValueError: it should take the reference model, and there is none.
        """
        trainer = self.trainer
        data = trainer.to_device(data)
        self.reference_model = reference_model
        if self.config.trains:
            self.network = trainer.network
            self.weights = trainer.train(data, steps, drop=self.config.probability)
        elif reference_model is None:
            raise ValueError(
                "trains = false drops units of the reference model, and this task has none; "
                "set trains = true"
            )
        else:
            self.network, self.weights = open_network(reference_model, trainer.device)
        if trainer.regression:
            self.noise_var = mean_loss(self.network, self.weights, data)
            self.noise_var = trainer.noise_var(data, self.noise_var, self.predict)

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """The spread of the passes; masks are a function of the seed alone.

        Where inputs have masks, and so models, of their own, there are no members.
        """
        config = self.config
        drop = Dropout(config.probability, self.trainer.generators("passes"), config.shared)
        x = inputs.to(self.trainer.device)
        passes = torch.stack(
            [self.network(self.weights, x, drop).double() for _ in range(config.passes)]
        ).cpu()
        if self.trainer.regression:
            said = regression(passes.squeeze(-1), self.noise_var.cpu()[:, None])
        else:
            said = classification(self.reference_model, inputs, passes)
        return said if config.shared else replace(said, members=None)
