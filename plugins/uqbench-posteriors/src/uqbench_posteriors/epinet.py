"""An epinet beside a Q-network (Osband et al. 2023, "Epistemic neural networks").

``f(s, z) = μ(s) + σ^L(sg[φ(s)], z) + σ^P(s, z)``: a learned network and a fixed prior, which is a
combination of small networks by z, on top of a base network whose features no epinet's loss shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F
from uqbench_dqn.networks import QNetwork, q_network

from uqbench.contract.agent import EnvironmentInfo, observation_shape
from uqbench_posteriors.config import EpinetConfig
from uqbench_posteriors.indexed import Indexed, IndexedQ


class EpinetNetwork(Indexed):
    """The base network with its epinet (equations 6 to 8).

    Args:
        lanes: L.
        info: the environment.
        config: settings.
    """

    def __init__(self, lanes: int, info: EnvironmentInfo, config: EpinetConfig) -> None:
        super().__init__()
        size, shape = config.index_size, observation_shape(info)
        self.base = q_network(lanes, info, config, 1)
        features = self.base.widths[1]
        self.learned = QNetwork(
            lanes, (features + size,), info.n_actions, size, hidden=config.epinet_hidden
        )
        flat = (torch.Size(shape).numel(),)
        self.prior = QNetwork(
            lanes, flat, info.n_actions, 1, hidden=config.prior_hidden, ensemble=size
        ).requires_grad_(False)
        self._scale = config.prior_scale

    def forward(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, B, *obs]``, ``[L, S, D]`` → Q ``[L, B, A, S]``."""
        states, indices = obs.shape[1], index.shape[1]
        pairs = index[:, None].expand(-1, states, -1, -1).flatten(1, 2)
        features = self.base.features(self.base.trunk(obs))
        mean = self.base.outputs(features)  # [L, B, A, 1]
        repeated = features.detach().repeat_interleave(indices, 1)
        learned = self._combined(repeated, pairs).unflatten(1, (states, indices)).transpose(-1, -2)
        values: Tensor = mean + learned + self._scale * self._priors(obs) @ index.mT[:, None]
        return values

    def of_each(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, K, *obs]``, ``[L, K, D]`` → Q ``[L, K, A]``."""
        features = self.base.features(self.base.trunk(obs))
        mean = self.base.outputs(features).squeeze(-1)
        prior = (self._priors(obs) * index[:, :, None]).sum(-1)
        values: Tensor = mean + self._combined(features, index) + self._scale * prior
        return values

    def _combined(self, features: Tensor, index: Tensor) -> Tensor:
        """``σ^L``: ``zᵀ g(φ, z)`` of features ``[L, B, F]`` and as many indices: ``[L, B, A]``."""
        outputs = self.learned(torch.cat([features, index], -1))
        combined: Tensor = (outputs * index[:, :, None]).sum(-1)
        return combined

    def _priors(self, obs: Tensor) -> Tensor:
        """The D prior networks, ``[L, B, A, D]``."""
        priors: Tensor = self.prior(obs.flatten(2)).squeeze(-1)  # [L, D, B, A]
        return priors.movedim(1, -1)


class EpinetDQN(IndexedQ):
    """DQN with an epinet; an index an episode, no dithering.

    Source: Osband et al. 2023, "Epistemic neural networks"
    """

    config: EpinetConfig

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: EpinetConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device, EpinetNetwork(len(seeds), info, config))

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber losses averaged over the indices, of ``[..., S]`` each: ``[...]``."""
        return F.huber_loss(predicted, target, reduction="none", delta=self.config.kappa).mean(-1)
