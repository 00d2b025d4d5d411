"""A linear hypermodel over Q-networks (Dwaracherla et al. 2020, "Hypermodels for exploration").

An index z gives all weights of a network, ``θ(z) = θ₀ + Σ_j z_j θ_j``, with a prior network of
fixed weights given likewise. Targets are perturbed by ``σ_w aᵀ z`` with a unit vector a for each
transition, so that networks of different indices learn from different data.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from uqbench_dqn.networks import QNetwork

from uqbench.contract.agent import EnvironmentInfo, observation_dtype, observation_shape
from uqbench_posteriors.config import HypermodelConfig
from uqbench_posteriors.indexed import Indexed, IndexedQ


class LinearHypermodel(nn.Module):
    """Networks whose weights are linear in an index.

    Args:
        lanes: L.
        info: the environment.
        config: settings.
        hidden: widths of the networks' hidden layers.
    """

    def __init__(
        self,
        lanes: int,
        info: EnvironmentInfo,
        config: HypermodelConfig,
        hidden: tuple[int, ...],
    ) -> None:
        super().__init__()
        self.weights = self._network(lanes, info, config, hidden, config.index_size + 1)
        # the same network for any number of members: its own weights are never used
        self._form = [self._network(0, info, config, hidden, None)]

    @staticmethod
    def _network(
        lanes: int,
        info: EnvironmentInfo,
        config: HypermodelConfig,
        hidden: tuple[int, ...],
        ensemble: int | None,
    ) -> QNetwork:
        return QNetwork(
            lanes,
            observation_shape(info),
            info.n_actions,
            1,
            hidden=hidden,
            channels=config.channels,
            kernel=config.kernel,
            stride=config.stride,
            scale=1 / 255 if observation_dtype(info) == torch.uint8 else 1.0,
            ensemble=ensemble,
        )

    def forward(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[S, B, *obs]`` with an index ``[L, K, D]`` for each of S = L · K: ``[S, B, A]``."""
        ones = torch.ones_like(index[..., :1])
        shares = torch.cat([ones, index], -1)  # [L, K, D + 1]
        weights = {
            name: torch.bmm(shares, basis.flatten(2)).unflatten(-1, basis.shape[2:]).flatten(0, 1)
            for name, basis in self.weights.named_parameters()
        }
        values: Tensor = functional_call(self._form[0], weights, (obs,))
        return values.squeeze(-1)


class HypermodelNetwork(Indexed):
    """A learned hypermodel plus a fixed one.

    Args:
        lanes: L.
        info: the environment.
        config: settings.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: HypermodelConfig) -> None:
        super().__init__()
        self.learned = LinearHypermodel(lanes, info, config, config.hidden)
        self.prior = LinearHypermodel(lanes, info, config, config.prior_hidden)
        self.prior.requires_grad_(False)
        self._scale = config.prior_scale

    def forward(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, B, *obs]``, ``[L, S, D]`` → Q ``[L, B, A, S]``."""
        repeated = obs.repeat_interleave(index.shape[1], 0)
        values: Tensor = self._both(repeated, index).unflatten(0, index.shape[:2])
        return values.movedim(1, -1)

    def of_each(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, K, *obs]``, ``[L, K, D]`` → Q ``[L, K, A]``."""
        alone = obs.flatten(0, 1).unsqueeze(1)
        values: Tensor = self._both(alone, index).squeeze(1).unflatten(0, index.shape[:2])
        return values

    def _both(self, obs: Tensor, index: Tensor) -> Tensor:
        values: Tensor = self.learned(obs, index) + self._scale * self.prior(obs, index)
        return values


class HypermodelDQN(IndexedQ):
    """DQN with a linear hypermodel; an index an episode, perturbed targets, no dithering.

    Indices have variance 1/D in each number, so that weights vary as much whatever D.

    Source: Dwaracherla et al. 2020, "Hypermodels for exploration"
    """

    config: HypermodelConfig

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: HypermodelConfig,
        device: torch.device,
    ) -> None:
        network = HypermodelNetwork(len(seeds), info, config)
        super().__init__(info, seeds, config, device, network, config.index_size**-0.5)

    @torch.no_grad()
    def initialize(self, generators: Sequence[torch.Generator]) -> None:
        """Draw ``θ₀`` and the ``θ_j``, half of a layer's variance each.

        The weights of an index then vary as those of any other network of the same gain.
        """
        super().initialize(generators)
        for weight in self.online.parameters():
            weight.mul_(0.5**0.5)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Squared errors averaged over the indices, of ``[..., S]`` each: ``[...]``."""
        return (target - predicted).square().mean(-1)
