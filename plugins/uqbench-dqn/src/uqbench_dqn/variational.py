"""Networks with an independent normal distribution over every weight, for all lanes at once.

A layer's output for one input, with weights drawn for that input, is normal with independent units:
it is drawn itself instead of the weights (Kingma, Salimans & Welling 2015, the local
reparameterization), at the cost of one normal number per unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from uqbench.lanes.numerics import softplus, sum_of


class VariationalLinear(nn.Module):
    """An affine layer per lane whose weights are ``N(μ, σ²)``, ``σ = log(1 + exp ρ)``.

    Means start uniform within ``±√(3 / inputs)``, biases at zero, all σ at ``std``.

    Args:
        inputs: features in.
        outputs: features out.
        std: σ at the start.
        generators: one a lane.
    """

    def __init__(
        self, inputs: int, outputs: int, std: float, generators: Sequence[torch.Generator]
    ) -> None:
        super().__init__()
        bound = math.sqrt(3 / inputs)
        drawn = [torch.rand(inputs, outputs, generator=generator) for generator in generators]
        self.mean = nn.Parameter((2 * torch.stack(drawn) - 1) * bound)
        self.bias_mean = nn.Parameter(torch.zeros(len(drawn), 1, outputs))
        rho = math.log(math.expm1(std))
        self.rho = nn.Parameter(torch.full_like(self.mean, rho))
        self.bias_rho = nn.Parameter(torch.full_like(self.bias_mean, rho))

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """``[L, B, in]``, standard normal ``[L, B, out]`` → ``[L, B, out]``."""
        mean = torch.bmm(x, self.mean) + self.bias_mean
        variance = torch.bmm(x.square(), softplus(self.rho).square())
        variance = variance + softplus(self.bias_rho).square()
        return mean + variance.sqrt() * noise

    def log_stds(self) -> Tensor:
        """``Σ_j log σ_j``, the entropy but for a constant, ``[L]``."""
        rhos = torch.cat([self.rho.flatten(1), self.bias_rho.flatten(1)], -1)
        return softplus(rhos).log().sum(-1)


class VariationalNetwork(nn.Module):
    """Observation → a draw of Q-values; ReLU between layers.

    Args:
        shape: of one observation, which is flattened.
        n_actions: A.
        hidden: widths of the hidden layers.
        std: σ of all weights at the start.
        generators: one a lane.
    """

    def __init__(
        self,
        shape: Sequence[int],
        n_actions: int,
        hidden: Sequence[int],
        std: float,
        generators: Sequence[torch.Generator],
    ) -> None:
        super().__init__()
        self._widths = [*hidden, n_actions]
        self.layers: Sequence[VariationalLinear] = nn.ModuleList(  # type: ignore[assignment]
            VariationalLinear(inputs, outputs, std, generators)
            for inputs, outputs in pairwise((math.prod(shape), *self._widths))
        )

    @property
    def units(self) -> int:
        """Normal numbers that a draw for one observation takes."""
        return sum(self._widths)

    def forward(self, obs: Tensor, noise: Tensor) -> Tensor:
        """``[L, B, *obs]``, standard normal ``[L, B, units]`` → ``[L, B, A]``."""
        x = obs.flatten(2).float()
        for number, (layer, own) in enumerate(
            zip(self.layers, noise.split(self._widths, -1), strict=True)
        ):
            x = layer(x.relu() if number else x, own)
        return x

    def log_stds(self) -> Tensor:
        """``Σ_j log σ_j`` over all weights, ``[L]``."""
        return sum_of(layer.log_stds() for layer in self.layers)
