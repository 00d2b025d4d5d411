"""MC dropout (Gal & Ghahramani 2016): forward passes with units dropped as samples of models."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.estimator import Data, Dataset, Estimator, PredictiveUncertainty, ReferenceModel
from uqbench.lanes import lane_generators
from uqbench.seeding import derive_seed
from uqbench_quam.config import MCDropoutConfig
from uqbench_quam.given import architecture, mean_loss, on, opened, train
from uqbench_quam.learning import dropout
from uqbench_quam.uncertainty import spread, state


class MCDropout(Estimator):
    """One network a lane; the masks of a pass are drawn anew for every input.

    Raises:
        ValueError: it is to drop units of a given model, and there is none.
    """

    def __init__(
        self,
        task: Dataset,
        seeds: Sequence[int],
        config: MCDropoutConfig,
        device: torch.device,
    ) -> None:
        self.task = task
        self.seeds = seeds
        self.config = config
        self.device = device

    def fit(self, data: Data, reference: ReferenceModel | None, steps: int) -> None:
        """Train a network with dropout, or take the given model."""
        data = on(data, self.device)
        self.reference = reference
        if self.config.trains:
            self.network = architecture(self.task, self.config)
            drop = self.config.probability
            self.weights = train(self.network, data, self.seeds, steps, self.config, drop=drop)
        elif reference is None:
            raise ValueError(
                "trains = false drops units of a given model, and this task gives none; "
                "set trains = true"
            )
        else:
            self.network, self.weights = opened(reference, self.device)
        if self.task.n_classes == 0:
            self.noise_var = mean_loss(self.network, self.weights, data)

    @torch.no_grad()
    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """What the passes state; masks are a function of the seed alone."""
        own = lane_generators([derive_seed("passes", seed) for seed in self.seeds])
        drop = dropout(self.config.probability, own)
        x = inputs.to(self.device)
        passes = torch.stack(
            [self.network(self.weights, x, drop).double() for _ in range(self.config.passes)]
        ).cpu()
        if self.task.n_classes == 0:
            return spread(passes.squeeze(-1), self.noise_var.cpu()[:, None])
        return state(self.reference, inputs, passes.log_softmax(-1))
