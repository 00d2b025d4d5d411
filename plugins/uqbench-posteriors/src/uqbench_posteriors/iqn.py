"""Implicit quantile networks (Dabney, Ostrovski, Silver & Munos 2018).

A network gives the quantile of the return at any level τ, ``f(ψ(s) ⊙ φ(τ))``, and learns from
levels that are drawn anew at every gradient step. It states noise, and no ignorance: beside
the posteriors it is what a return distribution alone is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from uqbench_dqn.deep_q import DeepQ
from uqbench_dqn.networks import QNetwork, q_network
from uqbench_dqn.quantiles import midpoint_levels

from uqbench.contract.agent import EnvironmentInfo, Uncertainty
from uqbench.lanes import LaneLinear, Uniform, greedy
from uqbench_posteriors.config import IQNConfig

BLOCK = 32
"""Steps whose levels are drawn at once."""


class IQNetwork(nn.Module):
    """``Z_τ(s, a) = f(ψ(s) ⊙ φ(τ))_a``, ``φ_j(τ) = ReLU(Σ_i cos(π i τ) w_ij + b_j)`` (equation 4).

    ψ is what the convolutions give, or the observation itself; f the fully connected layers.

    Args:
        lanes: L.
        info: the environment.
        config: settings.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: IQNConfig) -> None:
        super().__init__()
        self.network: QNetwork = q_network(lanes, info, config, 1)
        (first, *_) = self.network.layers
        assert isinstance(first, LaneLinear)
        self.embedding = LaneLinear(lanes, config.cosines, first.weight.shape[-2])
        self._cosines = config.cosines

    def forward(self, obs: Tensor, levels: Tensor) -> Tensor:
        """``[L, B, *obs]``, τ ``[L, B or 1, N]`` → quantiles ``[L, B, A, N]``."""
        x = self.network.convolved(obs)
        factors = math.pi * torch.arange(self._cosines, device=levels.device)
        cosines = (levels[..., None] * factors).cos()  # [L, B, N, n]
        embedded = self.embedding(cosines.flatten(1, 2)).relu().unflatten(1, levels.shape[1:])
        x = (x[:, :, None] * embedded).flatten(1, 2)
        for layer in self.network.layers[:-1]:
            x = layer(x).relu()
        outputs = self.network.outputs(x).squeeze(-1)
        quantiles: Tensor = outputs.unflatten(1, (obs.shape[1], levels.shape[-1]))
        return quantiles.transpose(-1, -2)


def quantile_huber(predicted: Tensor, levels: Tensor, target: Tensor, kappa: float) -> Tensor:
    """``Σ_i mean_j |τ_i − 1{δ_ij < 0}| L_κ(δ_ij) / κ``, ``δ_ij = target_j − predicted_i``.

    Equations 2 and 3.

    Args:
        predicted: ``[..., N]``.
        levels: τ, ``[..., N]``.
        target: ``[..., N']``.
        kappa: κ.
    """
    error = target[..., None, :] - predicted[..., :, None]
    weight = (levels[..., None] - (error < 0).to(error.dtype)).abs()
    huber = F.huber_loss(error, torch.zeros_like(error), reduction="none", delta=kappa)
    return (weight * huber / kappa).mean(-1).sum(-1)


class IQN(DeepQ):
    """Implicit quantile networks, ε-greedy and neutral about risk.

    Source: Dabney, Ostrovski, Silver & Munos 2018, "Implicit quantile networks"
    """

    config: IQNConfig
    shared_by_lanes = ("levels",)

    def __init__(
        self, info: EnvironmentInfo, seeds: Sequence[int], config: IQNConfig, device: torch.device
    ) -> None:
        network = IQNetwork(len(seeds), info, config)
        super().__init__(info, seeds, config, 1, device, network=network)
        self.levels = midpoint_levels(config.stated).to(device)
        self._acting = Uniform(seeds, "levels", (info.actors, config.acting), device, BLOCK)
        shape = (config.batch_size, config.predicted + config.targets + config.acting)
        block = self.updates.block(BLOCK)
        self._learning = Uniform(seeds, "learning", shape, device, block, self.updates.blocks)
        self._learning.at(self.updates.draws)  # that clock prepares it from now on

    def q_values(self, outputs: Tensor) -> Tensor:
        """The mean of quantiles ``[..., A, N]``."""
        return outputs.mean(-1)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of K quantiles at levels drawn for this step, or a random one."""
        action = self.choose_action(obs, self._acting.at(self.clock), valid)
        return self.exploration.explore(action, self.exploration.noise(), valid)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """Greedy actions ``[L, K]`` by levels ``noise`` ``[L, K, N]``."""
        return greedy(self.q_values(self.online(obs, noise)), valid)

    def minibatch(self, index: Tensor) -> dict[str, Tensor]:
        """The transitions, and the levels ``[L, B, N + N' + K]`` of this gradient step."""
        return super().minibatch(index) | {"levels": self._learning.at(self.updates.draws)}

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The quantile Huber loss, ``[L, B]``."""
        levels = batch["levels"][..., : self.config.predicted]
        outputs = self.online(batch["obs"], levels)
        predicted = _of_action(outputs, batch["action"])
        return quantile_huber(predicted, levels, self.bellman_target(batch), self.config.kappa)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """The loss at midpoint levels, ``[..., N]`` each."""
        levels = midpoint_levels(predicted.shape[-1]).to(predicted)
        return quantile_huber(predicted, levels.expand_as(predicted), target, self.config.kappa)

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + γ Z⁻_τ'(s', argmax_a mean_k Z⁻_τ̃k(s', a))``, ``[L, B, N']`` (equation 3).

        The greedy action is that of K other levels, as many as actions are chosen by.
        """
        outputs = self.target(batch["next_obs"], batch["levels"][..., self.config.predicted :])
        following, acting = outputs.split([self.config.targets, self.config.acting], -1)
        best = greedy(acting.mean(-1), batch["next_valid"])
        continues = self.discount * (~batch["terminated"])
        return batch["reward"][..., None] + continues[..., None] * _of_action(following, best)

    def _stated(self, obs: Tensor) -> Tensor:
        """Quantiles at midpoint levels, ``[L, M, A, stated]``."""
        quantiles: Tensor = self.online(obs, self.levels.expand(len(obs), 1, -1))
        return quantiles

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of the mean of the stated quantiles."""
        return greedy(self.q_values(self._stated(obs)), valid)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The return distribution, equally likely atoms, and its variance."""
        atoms = self._stated(obs)
        return Uncertainty(
            mean=atoms.mean(-1),
            aleatoric_var=atoms.var(-1, correction=0),
            return_atoms=atoms,
            return_probs=torch.full_like(atoms, 1 / atoms.shape[-1]),
        )


def _of_action(outputs: Tensor, action: Tensor) -> Tensor:
    index = action[..., None, None].expand(*action.shape, 1, outputs.shape[-1])
    return outputs.gather(-2, index).squeeze(-2)
