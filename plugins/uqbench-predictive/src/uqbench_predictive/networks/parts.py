"""Networks that see a part of an input each, as heads of several encoders do."""

from __future__ import annotations

import torch
from torch import Tensor

from uqbench_predictive.networks.architectures import Drop, Network, Weights


class Parts(Network):
    """A network of one part of an input, for a stack whose members have their parts in turn.

    Args:
        network: of one part, ``[S, B, width]``.
        parts: P; an input has ``P · width`` numbers.
        members: of a lane; member k of each has part k modulo P.
    """

    def __init__(self, network: Network, parts: int, members: int) -> None:
        self.network, self.parts, self.members = network, parts, members

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the network's weights."""
        return self.network.shapes

    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Features of each network's part."""
        return self.network.features(weights, self._seen(inputs), drop)

    def __call__(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """``[S, B, P · width] -> [S, B, C]``."""
        return self.network(weights, self._seen(inputs), drop)

    def _seen(self, inputs: Tensor) -> Tensor:
        stack = torch.arange(len(inputs), device=inputs.device)
        own = stack % self.members % self.parts
        seen: Tensor = inputs.unflatten(-1, (self.parts, -1))[stack, :, own]
        return seen
