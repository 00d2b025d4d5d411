"""What a sample of networks, equally likely, states about inputs."""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench.estimator import Data, PredictiveUncertainty, ReferenceModel
from uqbench_quam.given import mean_loss, repeated
from uqbench_quam.networks import Network, Weights
from uqbench_quam.uncertainty import spread, state


class Models:
    """``E`` networks a lane: members of an ensemble, or of a Markov chain.

    Args:
        network: of what kind.
        weights: ``[L · E, ...]``, those of a lane in a row.
        members: E.
        data: what they learned from, ``[L, n, ...]``.
        reference: the given model of setting (b), or None.
    """

    def __init__(
        self,
        network: Network,
        weights: Weights,
        members: int,
        data: Data,
        reference: ReferenceModel | None,
    ) -> None:
        self.network = network
        self.weights = weights
        self.members = members
        self.reference = reference
        self.regression = data.targets.is_floating_point()
        if self.regression:
            each = mean_loss(network, weights, repeated(data, members))
            self.noise_var = each.unflatten(0, (-1, members)).mean(-1)

    def state(self, inputs: Tensor) -> PredictiveUncertainty:
        """In setting (a) about themselves, in (b) about the given model; a regression's spread."""
        outputs = self.outputs(inputs)
        if self.regression:
            return spread(outputs.squeeze(-1), self.noise_var.cpu()[:, None])
        return state(self.reference, inputs, outputs.log_softmax(-1))

    @torch.no_grad()
    def outputs(self, inputs: Tensor) -> Tensor:
        """Of every member, float64 ``[E, L, M, C]``, on the CPU."""
        device = next(iter(self.weights.values())).device
        x = inputs.to(device).repeat_interleave(self.members, dim=0)
        outputs = self.network(self.weights, x).double().cpu()
        members: Tensor = outputs.unflatten(0, (-1, self.members))
        return members.movedim(1, 0)
