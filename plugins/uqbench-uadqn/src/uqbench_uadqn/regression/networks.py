"""Stacked fully connected networks with a smooth activation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from uqbench.lanes import LaneLinear
from uqbench_uadqn.regression.config import Prior


class Perceptrons(nn.Module):
    """``[L, E]`` networks from one number to ``outputs``; not initialized.

    Args:
        lanes: L.
        networks: E.
        hidden: widths of the hidden layers.
        outputs: N.
        activation: after each hidden layer.
    """

    def __init__(
        self,
        lanes: int,
        networks: int,
        hidden: Sequence[int],
        outputs: int,
        activation: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self._networks = networks
        self._activation = activation
        self.layers = nn.ModuleList(
            LaneLinear(lanes, wide, narrow, networks)
            for wide, narrow in pairwise((1, *hidden, outputs))
        )

    def forward(self, x: Tensor) -> Tensor:
        """Inputs ``[L, E, B, 1]``, or ``[L, 1, B, 1]`` for all networks, to ``[L, E, B, N]``."""
        x = x.expand(-1, self._networks, -1, -1).flatten(0, 1)
        for layer in self.layers[:-1]:
            x = self._activation(layer(x))
        outputs: Tensor = self.layers[-1](x).unflatten(0, (-1, self._networks))
        return outputs


def draw_from(prior: Prior, networks: Perceptrons, generators: Sequence[torch.Generator]) -> None:
    """Draw all weights and biases from the prior, lane by lane from its own generator."""
    with torch.no_grad():
        for parameter, std in zip(networks.parameters(), prior_stds(prior, networks), strict=True):
            for lane, generator in zip(parameter, generators, strict=True):
                lane.copy_(std * torch.randn(lane.shape, generator=generator))


def prior_stds(prior: Prior, networks: Perceptrons) -> list[float]:
    """The prior's standard deviation of each of ``networks.parameters()``."""
    stds: list[float] = []
    for layer in networks.layers:
        assert isinstance(layer, LaneLinear)
        stds += [prior.weight_std / layer.weight.shape[-2] ** 0.5, prior.bias_std]
    return stds
