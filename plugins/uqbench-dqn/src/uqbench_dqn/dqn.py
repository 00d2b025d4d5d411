"""DQN (Mnih et al. 2015, "Human-level control through deep reinforcement learning")."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from uqbench.agent import EnvSpec, Uncertainty
from uqbench_dqn.config import DQNConfig
from uqbench_dqn.epsilon_greedy import EpsilonGreedyQ


class DQN(EpsilonGreedyQ):
    """A network with one output per action: its Q-value."""

    config: DQNConfig

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: DQNConfig, device: torch.device
    ) -> None:
        super().__init__(spec, seeds, config, outputs=1, device=device)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = θ(s)_a``."""
        return outputs.squeeze(-1)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber loss of the temporal-difference error."""
        error = F.huber_loss(predicted, target, reduction="none", delta=self.config.kappa)
        return error.squeeze(-1)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values; DQN states no uncertainty about them."""
        return Uncertainty(mean=self.q_values(self.online(obs)))
