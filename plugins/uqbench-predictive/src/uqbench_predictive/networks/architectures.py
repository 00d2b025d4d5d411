"""Networks as pure functions of their weights, in stacks: ``S`` networks in one batched product.

An adversarial search, an ensemble and a Markov chain all need many networks of one architecture
with different weights. Here a network is the names and shapes of its weights, and a function of
weights ``[S, ...]`` and inputs ``[S, B, *x]``. Its numbers do not depend on the size of the stack,
bit for bit: batched products keep to that; convolutions are called network by network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import pi, prod
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

Weights = Mapping[str, Tensor]
"""Weights by name, the networks of a stack along the first dimension."""


class Drop(Protocol):
    """Dropout: applied to activations where the network has it."""

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs of all networks of the stack, ``[S, B, H]``."""

    def of(self, index: int) -> Callable[[Tensor], Tensor]:
        """That of one network, ``[B, ...]``."""


ROWS = 512
"""Rows of a data set that go through a network at once where no gradient is needed."""

HEAD = ("head.weight", "head.bias")
"""Names of the last layer's weights, ``[S, H, C]`` and ``[S, 1, C]``, of every network."""


FOURIER = 256
"""Random features of a Gaussian process on a network's features."""
BOUND, LENGTH = 0.95, 2.0
"""Bound of a spectral norm, and length of the process's kernel; not tuned."""


class Network(ABC):
    """An architecture; called with the weights of a stack."""

    @property
    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights of one network, by name; the last layer's come last."""

    @abstractmethod
    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Inputs of the last layer, ``[S, B, H]``."""

    def __call__(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Logits, or a regression's value with C = 1: ``[S, B, *x] -> [S, B, C]``."""
        return affine(weights, "head", self.features(weights, inputs, drop))

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Initial weights of one network: torch's default, uniform in ``±1/√in``, biases too."""
        weights: dict[str, Tensor] = {}
        bound = 0.0
        for name, shape in self.shapes.items():
            if name.endswith("weight"):
                bound = shape[0] ** -0.5
            weights[name] = (2 * torch.rand(shape, generator=generator) - 1) * bound
        return weights

    @torch.no_grad()
    def features_and_outputs(self, weights: Weights, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """``[S, B, H]`` and ``[S, B, C]``, a batch at a time, without gradients."""
        features = [self.features(weights, part) for part in inputs.split(ROWS, dim=1)]
        outputs = [affine(weights, "head", part) for part in features]
        return torch.cat(features, 1), torch.cat(outputs, 1)

    @property
    def last_layer(self) -> Mlp:
        """The last layer as a network of its own, on features."""
        width, outputs = self.shapes[HEAD[0]]
        return Mlp(width, (), outputs)

    @property
    def parameters(self) -> int:
        """Number of parameters of one network."""
        return sum(map(prod, self.shapes.values()))


@dataclass(frozen=True)
class Mlp(Network):
    """Fully connected layers with ReLU and dropout between them; inputs are flattened.

    Attributes:
        inputs: size of one input.
        hidden: widths of the hidden layers; without any, the network is its last layer.
        outputs: C.
        drops_inputs: whether inputs are dropped, too: features of a network with dropout before its
            last layer, say.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: int
    drops_inputs: bool = False

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights of one network, by name; the last layer's come last."""
        shapes: dict[str, tuple[int, ...]] = {}
        width = self.inputs
        for index, narrow in enumerate(self.hidden):
            shapes |= {f"{index}.weight": (width, narrow), f"{index}.bias": (1, narrow)}
            width = narrow
        return shapes | {HEAD[0]: (width, self.outputs), HEAD[1]: (1, self.outputs)}

    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Inputs of the last layer, ``[S, B, H]``."""
        x = inputs.flatten(2)
        if drop is not None and self.drops_inputs:
            x = drop(x)
        for index in range(len(self.hidden)):
            x = affine(weights, str(index), x).relu()
            x = x if drop is None else drop(x)
        return x


@dataclass(frozen=True)
class LeNet(Network):
    """LeNet (LeCun et al. 1998) on ``[28, 28]`` images: two convolutions, three affine layers.

    5 × 5 filters, 6 and 16 of them, each followed by 2 × 2 max pooling and ReLU; 120 and 84 units;
    dropout before the last layer only. 44,426 parameters with ten classes.
    """

    outputs: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the weights of one network, by name; the last layer's come last."""
        sizes = {"0": (25, 6), "1": (150, 16), "2": (256, 120), "3": (120, 84), "head": (84, -1)}
        shapes: dict[str, tuple[int, ...]] = {}
        for name, (wide, narrow) in sizes.items():
            narrow = self.outputs if narrow == -1 else narrow
            shapes |= {f"{name}.weight": (wide, narrow), f"{name}.bias": (1, narrow)}
        return shapes

    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Inputs of the last layer, ``[S, B, 84]``."""
        x = torch.stack(
            [
                _convolved({name: t[i] for name, t in weights.items()}, images)
                for i, images in enumerate(inputs)
            ]
        )
        for name in ("2", "3"):
            x = affine(weights, name, x).relu()
        return x if drop is None else drop(x)


class SpectralGP(Network):
    """A residual network that keeps inputs apart, and a Gaussian process on its features: SNGP.

    Hidden layers after the first are ``h + relu(W h + b)`` with a spectral norm of W of at most
    :data:`BOUND`. The process has a Gaussian kernel of :data:`LENGTH`, by random Fourier features;
    they are the same for all networks, and their linear output is the last layer.

    Source: Liu, Lin et al. 2020

    Args:
        inputs: number of inputs.
        hidden: widths of the hidden layers, all the same.
        outputs: C.
    """

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int) -> None:
        if len(set(hidden)) != 1:
            raise ValueError(
                f"expected hidden layers of one width, which residual ones need, got {list(hidden)}"
            )
        self.inputs, self.hidden, self.outputs = inputs, tuple(hidden), outputs
        generator = torch.Generator().manual_seed(0)
        self.frequencies = torch.randn(hidden[0], FOURIER, generator=generator) / LENGTH
        self.phases = 2 * pi * torch.rand(FOURIER, generator=generator)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One hidden layer after the other, then the process's linear output."""
        shapes: dict[str, tuple[int, ...]] = {}
        for number, (wide, narrow) in enumerate(pairwise((self.inputs, *self.hidden))):
            shapes |= {f"{number}.weight": (wide, narrow), f"{number}.bias": (1, narrow)}
        return shapes | {HEAD[0]: (FOURIER, self.outputs), HEAD[1]: (1, self.outputs)}

    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """The random Fourier features, ``[S, B, 256]``."""
        x = affine(weights, "0", inputs.flatten(2)).relu()
        for number in range(1, len(self.hidden)):
            weight = weights[f"{number}.weight"]
            norm = torch.linalg.matrix_norm(weight, ord=2, keepdim=True)
            own = torch.baddbmm(
                weights[f"{number}.bias"], x, weight / (norm / BOUND).clamp(min=1)
            ).relu()
            x = x + (own if drop is None else drop(own))
        phases, frequencies = self.phases.to(x), self.frequencies.to(x)
        angles = torch.baddbmm(phases, x, frequencies.expand(len(x), -1, -1))
        waves: Tensor = (2 / FOURIER) ** 0.5 * angles.cos()
        return waves


def affine(weights: Weights, name: str, x: Tensor) -> Tensor:
    """``x W + b`` of every network in the stack: ``[S, B, in] -> [S, B, out]``."""
    return torch.baddbmm(weights[f"{name}.bias"], x, weights[f"{name}.weight"])


def _convolved(weights: Weights, images: Tensor) -> Tensor:
    """LeNet's two convolutions for one network: ``[B, 28, 28] -> [B, 256]``, channels last."""
    x = images.unsqueeze(1)
    for name in ("0", "1"):
        # rows of the weights are the filter's rows, columns and input channels
        filters = weights[f"{name}.weight"].unflatten(0, (5, 5, -1)).permute(3, 2, 0, 1)
        x = F.max_pool2d(F.conv2d(x, filters, weights[f"{name}.bias"][0]), 2).relu()
    return x.movedim(1, -1).flatten(1)


def initial_weights(
    network: Network, generators: Sequence[torch.Generator], members: int = 1
) -> dict[str, Tensor]:
    """Initial weights of a stack.

    Args:
        network: the architecture.
        generators: one per lane.
        members: E, networks per lane.

    Returns:
        Weights ``[L · E, ...]``, the members of a lane in a row.
    """
    stack = [network.initial(generator) for generator in generators for _ in range(members)]
    return {name: torch.stack([own[name] for own in stack]) for name in network.shapes}


def rows(weights: Weights, index: Tensor) -> dict[str, Tensor]:
    """A copy of the networks ``index`` ``[S]`` of a stack."""
    return {name: tensor[index] for name, tensor in weights.items()}
