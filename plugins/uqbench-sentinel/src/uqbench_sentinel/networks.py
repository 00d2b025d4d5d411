"""The networks of SENTINEL-K: one a member and action, for all lanes at once.

That they share no layer follows from the parameter counts of Tables 5 to 8,
(32 |S| + 11891) K |A|, which fit |S| → 32 → 32 → 128 → 51 for each member and action.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from uqbench.lanes import LaneLinear


class MemberNetworks(nn.Module):
    """Observation → logits of N atoms, by a network of each member and action; ReLU between layers.

    Args:
        lanes: L.
        members: K.
        n_actions: A.
        shape: of one observation, which is flattened.
        hidden: widths of the hidden layers.
        atoms: N.
    """

    def __init__(
        self,
        lanes: int,
        members: int,
        n_actions: int,
        shape: Sequence[int],
        hidden: Sequence[int],
        atoms: int,
    ) -> None:
        super().__init__()
        self._stack = (lanes, members, n_actions)
        widths = (math.prod(shape), *hidden, atoms)
        self.layers = nn.ModuleList(
            LaneLinear(lanes, inputs, outputs, ensemble=members * n_actions)
            for inputs, outputs in pairwise(widths)
        )

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, G, B, *obs] -> [L, K, A, B, N]``: G = K, a batch each, or one for all."""
        x = obs.flatten(3).float().unsqueeze(2)
        x = x.expand(*self._stack, *x.shape[-2:]).flatten(0, 2)
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        logits: Tensor = self.layers[-1](x)
        return logits.view(*self._stack, *logits.shape[1:])
