"""Random prior functions: networks that are drawn and stay, added to those that learn.

Where there are no data the sum keeps to the function that was drawn, so that members of an ensemble
differ there as much as the prior says (Osband et al. 2018, "Randomized prior functions for deep
reinforcement learning").
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.contract.estimator import Data
from uqbench_predictive.networks.architectures import Drop, Network, Weights


class WithPrior(Network):
    """A network plus a multiple of a random one of the same architecture, for a stack of its size.

    Args:
        network: that learns.
        generators: one per network of the stack.
        scale: factor of the random network's outputs.
    """

    def __init__(
        self, network: Network, generators: Sequence[torch.Generator], scale: float
    ) -> None:
        self.network, self.scale = network, scale
        drawn = [random_weights(network, generator) for generator in generators]
        self.prior = {name: torch.stack([own[name] for own in drawn]) for name in network.shapes}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the network that learns."""
        return self.network.shapes

    def features(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """Features of the network that learns."""
        return self.network.features(weights, inputs, drop)

    def __call__(self, weights: Weights, inputs: Tensor, drop: Drop | None = None) -> Tensor:
        """The sum, ``[S, B, *x] -> [S, B, C]``."""
        with torch.no_grad():
            prior = {name: tensor.to(inputs) for name, tensor in self.prior.items()}
            fixed = self.scale * self.network(prior, inputs)
        return self.network(weights, inputs, drop) + fixed


def random_weights(network: Network, generator: torch.Generator) -> dict[str, Tensor]:
    """Weights of one network: normal, of variance 2 / inputs of the layer, biases of variance 1.

    The law of the testbed's regressions, whose networks are infinitely wide; outputs keep the scale
    of the inputs through any number of layers.
    """
    return {
        name: torch.randn(shape, generator=generator)
        * ((2 / shape[0]) ** 0.5 if name.endswith("weight") else 1.0)
        for name, shape in network.shapes.items()
    }


def perturbed(data: Data, noise_var: float | None, generators: Sequence[torch.Generator]) -> Data:
    """A regression's data with noise added to each network's targets, ``[S, n]``; others as given.

    A network that fits targets with further noise of the same variance, from a random function on,
    is a draw from the posterior of a linear model; of a network it is an approximation.
    """
    if noise_var is None or not data.targets.is_floating_point():
        return data
    count = data.targets.shape[1]
    drawn = torch.stack([torch.randn(count, generator=g) for g in generators])
    return Data(data.inputs, data.targets + noise_var**0.5 * drawn.to(data.targets))
