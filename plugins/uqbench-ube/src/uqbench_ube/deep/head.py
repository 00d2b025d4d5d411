"""The uncertainty head: a network of its own on the features of another's trunk."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from uqbench.lanes import LaneLinear


class UncertaintyHead(nn.Module):
    """Trunk features → u of every action, through one hidden layer with ReLU.

    u is the square of the output layer, so that it is never negative: a product rounds alike
    wherever a lane lies in a tensor, which an exponential does not (:mod:`uqbench.lanes.numerics`).

    Args:
        lanes: L.
        inputs: F, features of the trunk.
        hidden: units of the hidden layer.
        n_actions: A.
    """

    def __init__(self, lanes: int, inputs: int, hidden: int, n_actions: int) -> None:
        super().__init__()
        self.hidden = LaneLinear(lanes, inputs, hidden)
        self.output = LaneLinear(lanes, hidden, n_actions)

    def forward(self, trunk: Tensor) -> Tensor:
        """u: ``[L, B, F] -> [L, B, A]``, in squared units of return."""
        roots = self._roots(trunk)
        return roots * roots

    @torch.no_grad()
    def start_at(self, trunk: Tensor, u: Tensor) -> None:
        """Shift the output layer so that u is ``[L]`` in states with the features ``[L, F]``."""
        missing = u.sqrt()[:, None, None] - self._roots(trunk[:, None])
        self.output.bias.add_(missing)

    def _roots(self, trunk: Tensor) -> Tensor:
        roots: Tensor = self.output(self.hidden(trunk).relu())
        return roots
