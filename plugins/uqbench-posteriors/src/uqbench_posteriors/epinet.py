"""An epinet beside a Q-network (Osband et al. 2023, "Epistemic neural networks").

``f(s, z) = μ(s) + σ^L(sg[s, φ(s)], z) + σ^P(s, z)``: a learned network and a fixed prior, which is
a combination of small networks by z, on a base network whose features no epinet's loss shapes.
The learned network sees the observation beside the features, as in the authors' implementation: the
prior is a function of it, and can be unlearned only by what sees as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F
from uqbench_dqn.networks import QNetwork, output_layer, q_network, start_at

from uqbench.contract.agent import EnvironmentInfo, observation_dtype, observation_shape
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
        size, flat = config.index_size, math.prod(observation_shape(info))
        self.base = q_network(lanes, info, config, 1)
        seen = flat + self.base.widths[1] + size
        self.learned = QNetwork(lanes, (seen,), info.n_actions, size, hidden=config.epinet_hidden)
        self.prior = QNetwork(
            lanes,
            (flat,),
            info.n_actions,
            1,
            hidden=config.prior_hidden,
            scale=1 / 255 if observation_dtype(info) == torch.uint8 else 1.0,
            ensemble=size,
        ).requires_grad_(False)
        self._scale = config.prior_scale

    def forward(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, B, *obs]``, ``[L, S, D]`` → Q ``[L, B, A, S]``."""
        states, indices = obs.shape[1], index.shape[1]
        pairs = index[:, None].expand(-1, states, -1, -1).flatten(1, 2)
        features = self.base.features(self.base.trunk(obs))
        mean = self.base.outputs(features)  # [L, B, A, 1]
        repeated = self._seen(obs, features).repeat_interleave(indices, 1)
        learned = self._combined(repeated, pairs).unflatten(1, (states, indices)).transpose(-1, -2)
        values: Tensor = mean + learned + self._scale * self._priors(obs) @ index.mT[:, None]
        return values

    def of_each(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, K, *obs]``, ``[L, K, D]`` → Q ``[L, K, A]``."""
        features = self.base.features(self.base.trunk(obs))
        mean = self.base.outputs(features).squeeze(-1)
        prior = (self._priors(obs) * index[:, :, None]).sum(-1)
        learned = self._combined(self._seen(obs, features), index)
        values: Tensor = mean + learned + self._scale * prior
        return values

    def _seen(self, obs: Tensor, features: Tensor) -> Tensor:
        """What the learned part sees of a state, ``sg[s, φ(s)]``: ``[L, B, O + F]``."""
        return torch.cat([self.prior.convolved(obs.flatten(2)), features.detach()], -1)

    def _combined(self, seen: Tensor, index: Tensor) -> Tensor:
        """``σ^L``: ``zᵀ g(s, φ, z)`` of ``[L, B, O + F]`` and as many indices: ``[L, B, A]``."""
        outputs = self.learned(torch.cat([seen, index], -1))
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
    native = "uqbench_posteriors.epinet_native:native"
    online: EpinetNetwork

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: EpinetConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device, EpinetNetwork(len(seeds), info, config))

    def initialize(self, generators: Sequence[torch.Generator]) -> None:
        """Draw the weights; the learned part starts at zero.

        So the prior alone says what is not known before any data.
        """
        super().initialize(generators)
        start_at(output_layer(self.online.learned), torch.zeros(1))
        if self.config.start == "zero":
            start_at(output_layer(self.online.base), torch.zeros(1))

    @property
    def start_outputs(self) -> Tensor:
        """Zero, of the base network: Q is the prior's, whose mean over indices is zero."""
        return torch.zeros(1)

    def loss(self, predicted: Tensor, target: Tensor) -> Tensor:
        """Huber losses averaged over the indices, of ``[..., S]`` each: ``[...]``."""
        return F.huber_loss(predicted, target, reduction="none", delta=self.config.kappa).mean(-1)
