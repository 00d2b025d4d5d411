"""Stacked classifiers and how they are trained: ``[L, E]`` networks at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from uqbench.estimator import Data
from uqbench.lanes import LaneLinear, initialise, lane_generators

ADAM_EPSILON = 1e-8


class Classifiers(nn.Module):
    """Fully connected classifiers with ReLU, orthogonal initial weights of gain √2.

    Args:
        seeds: one a lane; the initial weights are a function of it.
        members: E.
        inputs: numbers in one input.
        hidden: widths of the hidden layers.
        classes: C.
    """

    def __init__(
        self, seeds: Sequence[int], members: int, inputs: int, hidden: Sequence[int], classes: int
    ) -> None:
        super().__init__()
        self.members = members
        self.layers = nn.ModuleList(
            LaneLinear(len(seeds), wide, narrow, members)
            for wide, narrow in pairwise((inputs, *hidden, classes))
        )
        initialise(self, lane_generators(seeds), gain=2**0.5)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits: ``[L, M, in] -> [L, E, M, C]``."""
        x = inputs.repeat_interleave(self.members, dim=0)  # members are lanes that see the same
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        logits: Tensor = self.layers[-1](x).unflatten(0, (-1, self.members))
        return logits

    @torch.no_grad()
    def members_log_probs(self, inputs: Tensor) -> Tensor:
        """Log-probabilities of the classes for each member, float64 ``[E, L, M, C]``."""
        logits: Tensor = self(inputs)
        return logits.double().log_softmax(-1).movedim(1, 0)


def fit(
    networks: Classifiers, data: Data, steps: int, learning_rate: float, weight_decay: float
) -> None:
    """Minimise every network's mean cross-entropy on all of its lane's data, by Adam."""
    # not the fused kernel: it rounds the tail of a tensor by where it lies (uqbench.lanes)
    optimiser = torch.optim.Adam(
        networks.parameters(),
        lr=learning_rate,
        eps=ADAM_EPSILON,
        weight_decay=weight_decay,
        foreach=True,
    )
    for _ in range(steps):
        log_probs = F.log_softmax(networks(data.inputs), dim=-1)  # [L, E, n, C]
        index = data.targets[:, None, :, None].expand(-1, log_probs.shape[1], -1, 1)
        loss = -log_probs.gather(-1, index).mean((-2, -1))
        optimiser.zero_grad(set_to_none=True)
        loss.sum().backward()
        optimiser.step()
