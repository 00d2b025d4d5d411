"""The networks of Bootstrapped DQN: a shared trunk and heads (Osband et al. 2016, Figure 1a).

With randomized priors there are two of them, of which one is not trained (Osband et al. 2018).
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from uqbench.contract.agent import EnvironmentInfo, observation_dtype, observation_shape
from uqbench.lanes import LaneLinear
from uqbench_dqn.config import BootstrappedDQNConfig, RandomizedPriorConfig
from uqbench_dqn.networks import QNetwork


class HeadsNetwork(QNetwork):
    """Heads as an ensemble that shares its convolutions; each has hidden layers of its own.

    Observations that are no images go straight to the heads.
    """

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, K]``: the K heads' Q-values."""
        values: Tensor = super().forward(obs)  # [L, K, B, A, 1]
        return values.squeeze(-1).movedim(1, -1)

    def of_heads(self, obs: Tensor, head: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A]``: the Q-values of a head for each observation, ``[L, B]``.

        The same bits as ``forward`` has; for a single observation a K-th of the weights to read.
        """
        if head.shape[1] > 1:
            values: Tensor = self(obs)
            index = head[..., None, None].expand(*values.shape[:-1], 1)
            return values.gather(-1, index).squeeze(-1)
        head, x = head[:, 0], self.convolved(obs)
        layers = [cast(LaneLinear, layer) for layer in self.layers]
        lanes, heads = layers[0].weight.shape[:2]
        index = head + heads * torch.arange(lanes, device=head.device)
        for depth, layer in enumerate(layers):
            weight, bias = (
                stack.flatten(0, 1).index_select(0, index) for stack in (layer.weight, layer.bias)
            )
            x = torch.bmm(x, weight) + bias
            x = x if depth == len(layers) - 1 else x.relu()
        return x


def heads_network(lanes: int, info: EnvironmentInfo, config: BootstrappedDQNConfig) -> HeadsNetwork:
    """The network as its config says; not initialized."""
    return HeadsNetwork(
        lanes,
        observation_shape(info),
        info.n_actions,
        1,
        hidden=config.hidden,
        channels=config.channels,
        kernel=config.kernel,
        stride=config.stride,
        scale=1 / 255 if observation_dtype(info) == torch.uint8 else 1.0,
        ensemble=config.heads,
        shared=True,
    )


class RandomizedPriors(nn.Module):
    """``Q_k(s, a) = f_{θ_k}(s, a) + β p_k(s, a)``: heads, each with a fixed random prior function.

    Source: Osband et al. 2018, Algorithm 1

    Args:
        lanes: L.
        info: the environment.
        config: settings of both networks, and β.

    Attributes:
        heads: f, which is trained.
        priors: p, of the same architecture, whose weights stay as they were drawn.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: RandomizedPriorConfig) -> None:
        super().__init__()
        self.heads = heads_network(lanes, info, config)
        self.priors = heads_network(lanes, info, config).requires_grad_(False)
        self._scale = config.prior_scale
        self._centered = config.prior_center == "actions"

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, K]``."""
        prior = self.priors(obs)
        if self._centered:
            prior = prior - prior.mean(-2, keepdim=True)
        values: Tensor = self.heads(obs) + self._scale * prior
        return values

    def of_heads(self, obs: Tensor, head: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A]``: of a head for each observation, ``[L, B]``."""
        prior = self.priors.of_heads(obs, head)
        if self._centered:
            prior = prior - prior.mean(-1, keepdim=True)
        return self.heads.of_heads(obs, head) + self._scale * prior

    @property
    def layers(self) -> nn.ModuleList:
        """The fully connected layers of both."""
        return nn.ModuleList([*self.heads.layers, *self.priors.layers])
