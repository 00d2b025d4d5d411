"""The network of the DQN family, for all lanes at once."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from uqbench.lanes import LaneConv2d, LaneLinear


class QNetwork(nn.Module):
    """Observation → ``outputs`` numbers per action.

    Image observations ``[C, H, W]`` go through one convolution and the hidden layers, others,
    flattened, through the hidden layers; ReLU after each.

    Args:
        lanes: L.
        shape: of one observation.
        n_actions: A.
        outputs: numbers per action: 1 for a value, N for quantiles.
        hidden: widths of the fully connected layers.
        channels: filters of the convolution.
        kernel: side of its kernel.

    Raises:
        ValueError: observations are single numbers.
    """

    def __init__(
        self,
        lanes: int,
        shape: tuple[int, ...],
        n_actions: int,
        outputs: int,
        *,
        hidden: tuple[int, ...],
        channels: int,
        kernel: int,
    ) -> None:
        super().__init__()
        if not shape:
            raise ValueError(
                "expected vector or image observations, got a single number (a Discrete space?); "
                "wrap the environment so that it is one-hot"
            )
        self._outputs = (n_actions, outputs)
        self.convolution: LaneConv2d | None = None
        width = math.prod(shape)
        if len(shape) == 3:
            depth, height, columns = shape
            self.convolution = LaneConv2d(lanes, (depth, height, columns), channels, kernel)
            width = self.convolution.features
        widths = (width, *hidden, n_actions * outputs)
        self.layers = nn.ModuleList(
            LaneLinear(lanes, inputs, features) for inputs, features in pairwise(widths)
        )

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, outputs]``."""
        x = obs.to(torch.float32)
        x = x.flatten(2) if self.convolution is None else self.convolution(x).relu()
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        outputs: Tensor = self.layers[-1](x).unflatten(-1, self._outputs)
        return outputs
