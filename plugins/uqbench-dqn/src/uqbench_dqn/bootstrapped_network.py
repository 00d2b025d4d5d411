"""The network of Bootstrapped DQN: a shared trunk and heads (Osband et al. 2016, Figure 1a)."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from uqbench.agent import EnvSpec, observation_shape
from uqbench.lanes import LaneConv2d, LaneLinear
from uqbench_dqn.config import BootstrappedDQNConfig


class HeadsNetwork(nn.Module):
    """Observation → each head's Q-value of each action.

    Image observations ``[C, H, W]`` go through one convolution that the heads share; each head has
    hidden layers and an output layer of its own, ReLU between. Other observations, flattened, go
    straight to the heads.

    Args:
        lanes: L.
        spec: the environment.
        config: widths, and how many heads.

    Raises:
        ValueError: observations are single numbers, or the config has several convolutions.
    """

    def __init__(self, lanes: int, spec: EnvSpec, config: BootstrappedDQNConfig) -> None:
        super().__init__()
        shape = observation_shape(spec)
        if not shape:
            raise ValueError(
                "expected vector or image observations, got a single number (a Discrete space?); "
                "wrap the environment so that it is one-hot"
            )
        self._heads = config.heads
        self.convolution: LaneConv2d | None = None
        width = math.prod(shape)
        if len(shape) == 3:
            if not isinstance(config.channels, int) or not isinstance(config.kernel, int):
                raise ValueError(
                    f"expected one convolution, got channels = {config.channels} and kernel = "
                    f"{config.kernel}; the trunk has one"
                )
            depth, height, columns = shape
            self.convolution = LaneConv2d(
                lanes, (depth, height, columns), config.channels, config.kernel
            )
            width = self.convolution.features
        self.layers = nn.ModuleList(
            LaneLinear(lanes, inputs, outputs, ensemble=config.heads)
            for inputs, outputs in pairwise((width, *config.hidden, spec.n_actions))
        )

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, K]``, K heads."""
        x = obs.to(torch.float32)
        x = x.flatten(2) if self.convolution is None else self.convolution(x).relu()
        x = x.repeat_interleave(self._heads, dim=0)  # heads are lanes of their own
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        values: Tensor = self.layers[-1](x)
        return values.unflatten(0, (-1, self._heads)).movedim(1, -1)
