"""DQN (Mnih et al. 2015, "Human-level control through deep reinforcement learning")."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench_dqn.config import DeepQConfig, DQNConfig
from uqbench_dqn.deep_q import DeepQ


class ScalarQ(DeepQ):
    """A network with one output per action, its Q-value, trained by the Huber loss.

    Args:
        info: the environment.
        seeds: one per lane.
        config: settings.
        device: where to compute.
        kappa: where the Huber loss turns from quadratic to linear.
        extra_networks: networks that the optimizer trains with the online one.
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: DeepQConfig,
        device: torch.device,
        kappa: float,
        *,
        extra_networks: nn.Module | None = None,
    ) -> None:
        super().__init__(info, seeds, config, 1, device, extra_networks=extra_networks)
        self.kappa = kappa

    @property
    def start_outputs(self) -> Tensor:
        """Zero."""
        return torch.zeros(1)

    def q_values(self, outputs: Tensor) -> Tensor:
        """``Q(s, a) = θ(s)_a``."""
        return outputs.squeeze(-1)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber loss of the temporal-difference error."""
        error = F.huber_loss(predicted, target, reduction="none", delta=self.kappa)
        return error.squeeze(-1)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q-values, without an uncertainty."""
        return Uncertainty(mean=self.q_values(self.online(obs)))


class DQN(ScalarQ):
    """Deep Q-network, ε-greedy.

    Source: Mnih et al. 2015; settings of Clements et al. 2019, section 3.2
    """

    config: DQNConfig
    native = "uqbench_dqn.native.agents:dqn"

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: DQNConfig,
        device: torch.device,
        *,
        extra_networks: nn.Module | None = None,
    ) -> None:
        super().__init__(info, seeds, config, device, config.kappa, extra_networks=extra_networks)
