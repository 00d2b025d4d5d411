"""Universal value-function uncertainties (Zanger et al. 2025), for the greedy policy of a DQN.

A network u learns the values of a synthetic reward under which a fixed random network g is the
right answer, ``r_g = g(s, a) − γ g(s', a')``. Where the data do not settle what follows, u and g
differ, and half of their squared difference estimates the variance of an ensemble of Q-networks:
u and g are two independent draws, whose difference varies twice as much as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from uqbench_dqn.deep_q import DeepQ, of_action
from uqbench_dqn.networks import q_network

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import greedy
from uqbench_posteriors.config import UVUConfig


class UVUNetwork(nn.Module):
    """A Q-network, and the differences of a learned and a fixed network of M heads.

    Args:
        lanes: L.
        info: the environment.
        config: settings.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: UVUConfig) -> None:
        super().__init__()
        self.fixed = q_network(lanes, info, config, config.heads).requires_grad_(False)
        self.learned = q_network(lanes, info, config, config.heads)
        self.q = q_network(lanes, info, config, 1)  # the last one: how it starts is a setting

    def forward(self, obs: Tensor) -> Tensor:
        """``[L, B, *obs] -> [L, B, A, 1 + M]``: Q, then ``u − g``."""
        return torch.cat([self.q(obs), self.learned(obs) - self.fixed(obs)], -1)


class UVUDQN(DeepQ):
    """DQN, ε-greedy, that states UVU's estimate of the variance of Q.

    The paper's networks take an encoding of a policy; here there is one policy, the greedy one,
    and none. Nothing is explored by the estimate.

    Source: Zanger et al. 2025, "Universal value-function uncertainties", section 3
    """

    config: UVUConfig

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: UVUConfig, device: torch.device
    ) -> None:
        network = UVUNetwork(len(seeds), info, config)
        super().__init__(info, seeds, config, 1 + config.heads, device, network=network)

    @property
    def start_outputs(self) -> Tensor:
        """Zero: Q's."""
        return torch.zeros(1)

    def q_values(self, outputs: Tensor) -> Tensor:
        """Q, the first of an action's outputs."""
        return outputs[..., 0]

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """DQN's Huber loss, and half of the squared errors of u, averaged over its heads."""
        kappa = self.config.kappa
        of_q = F.huber_loss(predicted[..., 0], target[..., 0], reduction="none", delta=kappa)
        return of_q + 0.5 * (predicted[..., 1:] - target[..., 1:]).square().mean(-1)

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ Q⁻(s', a*)``, and ``γ (u⁻ − g)(s', a*)``: ``[L, B, 1 + M]``.

        The second is u's target less ``g(s, a)``: ``r_g + γ u⁻(s', a*) − g(s, a)``, so that the
        differences learn the values of a reward of zero.
        """
        outputs = self.target(batch["next_obs"])
        best = greedy(self.q_values(outputs), batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        following = continues[..., None] * of_action(outputs, best)
        following[..., 0] += batch["reward"]
        return following

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """Q, and half of the squared differences, averaged over the heads, as its variance."""
        outputs = self.online(obs)
        half = 0.5 * outputs[..., 1:].square().mean(-1)
        return Uncertainty(
            mean=self.q_values(outputs), epistemic_var=self.config.prior_scale**2 * half
        )
