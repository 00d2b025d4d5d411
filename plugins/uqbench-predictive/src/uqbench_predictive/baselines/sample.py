"""Predictions of a sample of equally likely networks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.estimator import Data, PredictiveUncertainty, ReferenceModel
from uqbench_predictive.networks.architectures import Network, Weights
from uqbench_predictive.networks.learning import mean_loss
from uqbench_predictive.networks.training import repeat
from uqbench_predictive.uncertainty import classification, regression


class NetworkSample:
    """``E`` networks per lane: members of an ensemble, or states of Markov chains.

    Args:
        network: their architecture.
        weights: ``[L · E, ...]``, those of a lane in a row.
        members: E.
        data: the training data, ``[L, n, ...]``.
        reference_model: of setting (b), or None.
    """

    def __init__(
        self,
        network: Network,
        weights: Weights,
        members: int,
        data: Data,
        reference_model: ReferenceModel | None,
    ) -> None:
        self.network = network
        self.weights = weights
        self.members = members
        self.reference_model = reference_model
        self.regression = data.targets.is_floating_point()
        if self.regression:
            each = mean_loss(network, weights, repeat(data, members))
            self.noise_var = each.unflatten(0, (-1, members)).mean(-1)

    def predict(self, inputs: Tensor) -> PredictiveUncertainty:
        """Setting (a), or (b) with a reference model; for a regression the members' spread."""
        outputs = self.outputs(inputs)
        if self.regression:
            return regression(outputs.squeeze(-1), self.noise_var.cpu()[:, None])
        return classification(self.reference_model, inputs, outputs)

    @torch.no_grad()
    def outputs(self, inputs: Tensor) -> Tensor:
        """Outputs of every member, float64 ``[E, L, M, C]``, on the CPU."""
        device = next(iter(self.weights.values())).device
        x = inputs.to(device).repeat_interleave(self.members, dim=0)
        outputs = self.network(self.weights, x).double().cpu()
        members: Tensor = outputs.unflatten(0, (-1, self.members))
        return members.movedim(1, 0)


def by_lane(states: Sequence[Weights]) -> dict[str, Tensor]:
    """Successive states ``[S, ...]`` of a stack as ``[S · states, ...]``, a chain's in a row."""
    return {
        name: torch.stack([state[name] for state in states], dim=1).flatten(0, 1)
        for name in states[0]
    }
