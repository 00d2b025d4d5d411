"""The network of the DQN family, for all lanes at once."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from uqbench.contract.agent import EnvironmentInfo, observation_dtype, observation_shape
from uqbench.lanes import LaneConv2d, LaneLinear
from uqbench_dqn.config import DeepQConfig


class QNetwork(nn.Module):
    """Observation → ``outputs`` numbers per action.

    Image observations ``[C, H, W]`` go through the convolutions and the hidden layers, others,
    flattened, through the hidden layers; ReLU after each. Bytes are read as fractions of 255.

    Args:
        lanes: L.
        shape: of one observation.
        n_actions: A.
        outputs: numbers per action: 1 for a value, N for quantiles.
        hidden: widths of the fully connected layers.
        channels: filters of the convolution, or of each of several.
        kernel: side of its kernel, or of theirs.
        stride: step of its kernel, or of theirs.
        scale: what observations are multiplied by.
        ensemble: E, or None for one network a lane.
        shared: whether the members share the convolutions, as heads on one trunk do.

    Raises:
        ValueError: observations are single numbers, or the convolutions do not fit each other or
            the image.
    """

    def __init__(
        self,
        lanes: int,
        shape: tuple[int, ...],
        n_actions: int,
        outputs: int,
        *,
        hidden: tuple[int, ...],
        channels: int | tuple[int, ...] = 16,
        kernel: int | tuple[int, ...] = 3,
        stride: int | tuple[int, ...] = 1,
        scale: float = 1.0,
        ensemble: int | None = None,
        shared: bool = False,
    ) -> None:
        super().__init__()
        if not shape:
            raise ValueError(
                "expected vector or image observations, got a single number (a Discrete space?); "
                "wrap the environment so that it is one-hot"
            )
        self._outputs = (n_actions, outputs)
        self._ensemble = ensemble
        self._scale = scale
        trunks = None if shared else ensemble
        self.convolutions = nn.ModuleList()
        if len(shape) == 3:
            for filters, side, step in zip(*_each(channels, kernel, stride), strict=True):
                depth, height, columns = shape
                if min(height, columns) < side:
                    raise ValueError(f"a kernel of {side} does not fit an image of {shape}")
                layer = LaneConv2d(lanes, (depth, height, columns), filters, side, step, trunks)
                self.convolutions.append(layer)
                shape = (filters, layer.rows, layer.columns)
        width = math.prod(shape)
        widths = (width, *hidden, n_actions * outputs)
        self._widths = widths
        self.layers = nn.ModuleList(
            LaneLinear(lanes, inputs, features, ensemble) for inputs, features in pairwise(widths)
        )

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, outputs]``; with an ensemble ``-> [L, E, B, A, outputs]``."""
        outputs = self.outputs(self.features(self.trunk(obs)))
        return outputs if self._ensemble is None else outputs.unflatten(0, (-1, self._ensemble))

    @property
    def widths(self) -> tuple[int, int]:
        """Numbers that ``trunk`` and ``features`` give for an observation."""
        return self._widths[-3:][0], self._widths[-2]

    def trunk(self, obs: Tensor) -> Tensor:
        """What goes into the last hidden layer, ``[S, B, F]``; S = L, or L · E.

        S = L, too, where the members have shared everything so far.
        """
        x = self.convolved(obs)
        for layer in self.layers[:-2]:
            x = layer(x).relu()
        return x

    def convolved(self, obs: Tensor) -> Tensor:
        """What goes into the first fully connected layer; S = L where members share it."""
        x = obs.to(torch.float32)
        if self._scale != 1:
            x = x * self._scale
        for layer in self.convolutions:
            x = layer(x).relu().unflatten(-1, (layer.rows, layer.columns, layer.channels))
            x = x.movedim(-1, 2)
        return (x.movedim(2, -1) if self.convolutions else x).flatten(2)  # channels last

    def features(self, trunk: Tensor) -> Tensor:
        """The last hidden layer: what goes into the output layer, ``[S, B, D]``."""
        return trunk if len(self.layers) == 1 else self.layers[-2](trunk).relu()

    def outputs(self, features: Tensor) -> Tensor:
        """The output layer, ``[S, B, A, outputs]``."""
        outputs: Tensor = self.layers[-1](features).unflatten(-1, self._outputs)
        return outputs


def output_layer(network: nn.Module) -> LaneLinear:
    """The last layer of stacked weights that is trained."""
    layers = [layer for layer in network.modules() if isinstance(layer, LaneLinear)]
    return [layer for layer in layers if layer.weight.requires_grad][-1]


@torch.no_grad()
def start_at(layer: LaneLinear, outputs: Tensor) -> None:
    """Let an output layer give ``outputs`` ``[N]``, again and again, whatever its input is."""
    layer.weight.zero_()
    layer.bias.unflatten(-1, (-1, len(outputs))).copy_(outputs)


@torch.no_grad()
def start_paired(network: nn.Module, outputs: Tensor) -> None:
    """Let a network give ``outputs`` ``[N]``, again and again, by units that cancel in pairs.

    Two units of the last hidden layer have the same inputs and opposite outputs (Zhang et al. 2020,
    "A type of generalization error induced by initialization in deep neural networks", the
    antisymmetric initialization): the hidden layer has gradients from the first step on, those
    below from the second.

    Raises:
        ValueError: there is no hidden layer below the output layer, or its width is odd.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, LaneLinear)]
    hidden, last = [layer for layer in layers if layer.weight.requires_grad][-2:]
    units = hidden.weight.shape[-1]
    if units % 2 or last.weight.shape[-2] != units:
        raise ValueError(
            f"start = 'paired' needs an even number of units in the last hidden layer, below the "
            f"output layer; got {units} units and {last.weight.shape[-2]} inputs of the outputs"
        )
    hidden.weight[..., units // 2 :] = hidden.weight[..., : units // 2]
    last.weight[..., units // 2 :, :] = -last.weight[..., : units // 2, :]
    last.bias.unflatten(-1, (-1, len(outputs))).copy_(outputs)


def _each(*settings: int | tuple[int, ...]) -> list[tuple[int, ...]]:
    """Settings of each convolution, from one number for all or one for each."""
    counts = {len(setting) for setting in settings if isinstance(setting, tuple)}
    if len(counts) > 1:
        raise ValueError(
            f"expected channels, kernel and stride for the same number of convolutions, got "
            f"{settings}"
        )
    count = counts.pop() if counts else 1
    return [s if isinstance(s, tuple) else (s,) * count for s in settings]


def q_network(
    lanes: int,
    info: EnvironmentInfo,
    config: DeepQConfig,
    outputs: int,
    ensemble: int | None = None,
    shared: bool = False,
) -> QNetwork:
    """The network of a method of the family, as its config says; not initialized."""
    return QNetwork(
        lanes,
        observation_shape(info),
        info.n_actions,
        outputs,
        hidden=config.hidden,
        channels=config.channels,
        kernel=config.kernel,
        stride=config.stride,
        scale=1 / 255 if observation_dtype(info) == torch.uint8 else 1.0,
        ensemble=ensemble,
        shared=shared,
    )
