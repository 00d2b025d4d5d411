"""Q-learning by a network with an epistemic index z: ``f_θ(s, z)``, z drawn from a normal law.

One z is one hypothesis about Q. An episode is played by one, drawn when it begins; a gradient step
averages the losses of several, each toward its own target. Epinets and hypermodels differ in f.
Targets may be perturbed by ``σ aᵀ z`` with a unit vector a for each transition, so that different
indices learn from different data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from uqbench_dqn.deep_q import DeepQ

from uqbench.contract.agent import EnvironmentInfo, Step, Uncertainty
from uqbench.lanes import Normal, ReplayBuffer, greedy
from uqbench_posteriors.config import EpinetConfig, HypermodelConfig

BLOCK = 32
"""Steps whose indices are drawn at once."""


class Indexed(nn.Module):
    """A network with an index."""

    @abstractmethod
    def forward(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, B, *obs]``, ``[L, S, D]`` → Q ``[L, B, A, S]``: each state with each index."""

    @abstractmethod
    def of_each(self, obs: Tensor, index: Tensor) -> Tensor:
        """``[L, K, *obs]``, ``[L, K, D]`` → Q ``[L, K, A]``: each state with its own index."""


class IndexedQ(DeepQ):
    """DQN with an epistemic index; Thompson sampling by an index an episode.

    Args:
        info: the environment.
        seeds: one per lane.
        config: settings.
        device: where to compute.
        network: f, not yet initialized.
        scale: standard deviation of each number of an index.
    """

    config: EpinetConfig | HypermodelConfig
    online: Indexed
    target: Indexed

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: EpinetConfig | HypermodelConfig,
        device: torch.device,
        network: Indexed,
        scale: float = 1.0,
    ) -> None:
        super().__init__(info, seeds, config, 1, device, network=network)
        self._scale = scale
        each, learned = (info.actors, config.index_size), (config.indices, config.index_size)
        self._next_index = Normal(seeds, "index", each, device, BLOCK)
        self._index = scale * Normal(seeds, "first index", each, device, 1).at(0)
        block = self.updates.block(BLOCK)
        self._learning = Normal(seeds, "learning", learned, device, block, self.updates.blocks)
        self._learning.at(self.updates.draws)  # that clock prepares it from now on
        self.directions = None
        if config.noise_std > 0:
            field = {"direction": ((config.index_size,), torch.float32)}
            self.directions = ReplayBuffer(len(seeds), self.replay.capacity, field, self.clock)
            self._next_direction = Normal(seeds, "directions", each, device)
        # the same draws for every prediction, so that only the posterior changes it
        stated = Normal(seeds, "stated", (config.samples, config.index_size), device, 1)
        self._stated = scale * stated.at(0)

    def q_values(self, outputs: Tensor) -> Tensor:
        """The mean over indices of ``[..., A, S]``, in which the evaluated policy is greedy."""
        return outputs.mean(-1)

    def choose_action(self, obs: Tensor, noise: Tensor, valid: Tensor | None) -> Tensor:
        """The greedy action ``[L, K]`` of the episode's index."""
        values = self.online.of_each(obs, self._index)
        return self.exploration.explore(greedy(values, valid), noise, valid)

    def observe(self, step: Step) -> None:
        """Draw unit vectors, learn, and draw an index for each actor whose episode ended."""
        if self.directions is not None:
            direction = self._next_direction.at(self.clock)
            self.directions.add(direction=direction / direction.norm(dim=-1, keepdim=True))
        drawn = self._scale * self._next_index.at(self.clock)
        ended = (step.terminated | step.truncated)[..., None]
        self._index.copy_(torch.where(ended, drawn, self._index))
        super().observe(step)

    def minibatch(self, index: Tensor) -> dict[str, Tensor]:
        """The transitions, their vectors ``[L, B, D]``, and this step's indices ``[L, S, D]``."""
        batch = super().minibatch(index) | {
            "z": self._scale * self._learning.at(self.updates.draws)
        }
        return batch if self.directions is None else batch | self.directions.gather(index)

    def objective(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Losses averaged over the indices, ``[L, B]``."""
        outputs = self.online(batch["obs"], batch["z"])
        action = batch["action"][..., None, None].expand(*outputs.shape[:2], 1, outputs.shape[-1])
        predicted = outputs.gather(-2, action).squeeze(-2)
        return self.loss(predicted, self.bellman_target(batch))

    @torch.no_grad()
    def bellman_target(self, batch: Mapping[str, Tensor]) -> Tensor:
        """``r + σ aᵀ z + γ max_a f_θ⁻(s', z)_a`` of each index, ``[L, B, S]``.

        z is standard normal in the perturbation, which has the variance σ².
        """
        values = self.target(batch["next_obs"], batch["z"])
        best = values.masked_fill(~batch["next_valid"][..., None], -torch.inf).amax(-2)
        continues = self.discount * (~batch["terminated"])
        target: Tensor = batch["reward"][..., None] + continues[..., None] * best
        if self.directions is None:
            return target
        noise = batch["direction"] @ (batch["z"] / self._scale).mT
        return target + self.config.noise_std * noise

    @torch.no_grad()
    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """The greedy action of the mean over the stated indices."""
        return greedy(self.q_values(self.online(obs, self._stated)), valid)

    @torch.no_grad()
    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """S values of Q, each of one index for all states; their mean and variance."""
        values = self.online(obs, self._stated)
        return Uncertainty(mean=values.mean(-1), epistemic_var=values.var(-1), value_samples=values)
