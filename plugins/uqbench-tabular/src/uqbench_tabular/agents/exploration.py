"""How agents explore: objects that an agent holds and asks for actions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from uqbench.lanes import Uniform, epsilon_greedy


class EpsilonGreedy:
    """With probability ε a uniformly random available action, else the greedy one."""

    def __init__(
        self, epsilon: float, seeds: Sequence[int], stream: str, device: torch.device
    ) -> None:
        self.epsilon = epsilon
        self._uniform = Uniform(seeds, stream, (2,), device)

    def choose(self, values: Tensor, t: int, valid: Tensor) -> Tensor:
        """Actions ``[L]`` of step ``t``, for values and masks ``[L, A]``."""
        return epsilon_greedy(values, self._uniform.at(t), self.epsilon, valid)
