"""The uncertainty head: a network of its own on the features of another's trunk."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from uqbench.lanes import LaneLinear


class UncertaintyHead(nn.Module):
    """Trunk features → ``u^½`` of every action, through one hidden layer with ReLU.

    The head gives the square root, and u is its square: never negative, and made of operations that
    round alike wherever a lane lies in a tensor, which exponentials do not.

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
        """``[L, B, F] -> [L, B, A]``: roots, whose sign means nothing."""
        roots: Tensor = self.output(self.hidden(trunk).relu())
        return roots

    @torch.no_grad()
    def begin_at(self, trunk: Tensor, u: Tensor) -> None:
        """Shift the outputs so that u is ``[L]`` in states with the features ``[L, F]``."""
        missing = u.sqrt()[:, None, None] - self(trunk[:, None])
        self.output.bias.add_(missing)
