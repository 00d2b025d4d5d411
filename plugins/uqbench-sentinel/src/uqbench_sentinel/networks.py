"""The networks of SENTINEL-K: one a member and action, for all lanes at once.

That they share no layer follows from the parameter counts of Tables 5 to 8,
(32 |S| + 11891) K |A|, which fit |S| → 32 → 32 → 128 → 51 for each member and action. The paper has
no images; a member that has a convolution is a network of the DQN family, one for all its actions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn
from uqbench_dqn.networks import QNetwork

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


class ImageMembers(QNetwork):
    """Images → logits of N atoms, by a member's own convolution and hidden layers.

    Args:
        lanes: L.
        members: K.
        n_actions: A.
        shape: of one observation.
        hidden: widths of the hidden layers.
        atoms: N.
        channels: filters of the convolution.
        kernel: its side.
    """

    def __init__(
        self,
        lanes: int,
        members: int,
        n_actions: int,
        shape: tuple[int, ...],
        hidden: tuple[int, ...],
        atoms: int,
        *,
        channels: int,
        kernel: int,
    ) -> None:
        super().__init__(
            lanes * members, shape, n_actions, atoms, hidden=hidden, channels=channels,
            kernel=kernel,
        )  # fmt: skip
        self._members = members

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, G, B, *obs] -> [L, K, A, B, N]``: G = K, a batch each, or one for all."""
        own = obs.expand(-1, self._members, *obs.shape[2:])
        outputs = super().forward(own.flatten(0, 1)).unflatten(0, (-1, self._members))
        logits: Tensor = outputs.transpose(2, 3)
        return logits
