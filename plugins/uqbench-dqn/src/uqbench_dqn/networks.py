"""The network of the DQN family, for all lanes at once."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from uqbench.agent import EnvSpec, observation_shape
from uqbench.lanes import LaneConv2d, LaneLinear
from uqbench_dqn.config import DeepQConfig


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
        ensemble: E, or None for one network a lane.

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
        ensemble: int | None = None,
    ) -> None:
        super().__init__()
        if not shape:
            raise ValueError(
                "expected vector or image observations, got a single number (a Discrete space?); "
                "wrap the environment so that it is one-hot"
            )
        self._outputs = (n_actions, outputs)
        self._ensemble = ensemble
        self.convolution: LaneConv2d | None = None
        width = math.prod(shape)
        if len(shape) == 3:
            depth, height, columns = shape
            self.convolution = LaneConv2d(
                lanes, (depth, height, columns), channels, kernel, ensemble=ensemble
            )
            width = self.convolution.features
        widths = (width, *hidden, n_actions * outputs)
        self.layers = nn.ModuleList(
            LaneLinear(lanes, inputs, features, ensemble) for inputs, features in pairwise(widths)
        )

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, outputs]``; with an ensemble ``-> [L, E, B, A, outputs]``."""
        x = obs.to(torch.float32)
        if self._ensemble is not None:  # members are lanes of their own that see the same
            x = x.repeat_interleave(self._ensemble, dim=0)
        x = x.flatten(2) if self.convolution is None else self.convolution(x).relu()
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        outputs: Tensor = self.layers[-1](x).unflatten(-1, self._outputs)
        return outputs if self._ensemble is None else outputs.unflatten(0, (-1, self._ensemble))


def q_network(
    lanes: int, spec: EnvSpec, config: DeepQConfig, outputs: int, ensemble: int | None = None
) -> QNetwork:
    """The network of a method of the family, as its config says; not initialised."""
    return QNetwork(
        lanes,
        observation_shape(spec),
        spec.n_actions,
        outputs,
        hidden=config.hidden,
        channels=config.channels,
        kernel=config.kernel,
        ensemble=ensemble,
    )
