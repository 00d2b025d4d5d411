"""Approximate samples from the posterior over weights, by anchoring (Pearce et al. 2018).

A network is trained to the maximum a posteriori of a normal prior that is centered on its own
initial weights; networks with different initial weights are samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from uqbench.lanes.numerics import mean_of, sum_of


class Anchor:
    """The prior of a stack of networks ``[L, E, ...]``: their initial weights and their scale."""

    def __init__(self, networks: nn.Module) -> None:
        self.weights = [parameter.detach().clone() for parameter in networks.parameters()]
        self.scale = prior_scale(self.weights)

    def penalty(self, networks: nn.Module, noise_scale: float, transitions: Tensor | int) -> Tensor:
        """``σ²_data / (σ²_prior n) ‖θ − θ⁰‖²`` of each network, ``[L, E]``.

        Args:
            networks: with the present weights θ.
            noise_scale: σ_data.
            transitions: n, how many are in the replay buffer, ``[]``.
        """
        distance = sum_of(
            (parameter - initial).square().flatten(2).sum(-1)
            for parameter, initial in zip(networks.parameters(), self.weights, strict=True)
        )
        return noise_scale**2 / (self.scale.square() * transitions) * distance

    def state_dict(self) -> dict[str, Any]:
        """The initial weights and their scale."""
        return {"weights": self.weights, "scale": self.scale}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.weights = state["weights"]
        self.scale = state["scale"]


def prior_scale(weights: Sequence[Tensor]) -> Tensor:
    """Mean over a network's tensors of their standard deviation at the start, ``[L, E]``.

    The paper says "the standard deviation of the network weights"; that biases, which start at
    zero, are tensors that count, is the reading of the released code.
    """
    return mean_of(weight.flatten(2).std(-1) for weight in weights)
