"""ε-greedy exploration for the DQN family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from uqbench.agent import EnvSpec
from uqbench.lanes import Uniform, epsilon_greedy, epsilon_random, linear_schedule
from uqbench_dqn.config import EpsilonGreedyConfig
from uqbench_dqn.deep_q import DeepQ


class EpsilonGreedyQ(DeepQ):
    """ε-greedy actions, as DQN and QR-DQN have."""

    config: EpsilonGreedyConfig
    compiled = (*DeepQ.compiled, "choose")

    def __init__(
        self,
        spec: EnvSpec,
        seeds: Sequence[int],
        config: EpsilonGreedyConfig,
        outputs: int,
        device: torch.device,
        beside: nn.Module | None = None,
        network: nn.Module | None = None,
    ) -> None:
        super().__init__(spec, seeds, config, outputs, device, beside, network)
        self._explore = Uniform(seeds, "explore", (2,), device)

    @torch.no_grad()
    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """ε-greedy; ε keeps its first value until learning starts."""
        return self.choose(obs, self._explore.at(self.clock), valid)

    def choose(self, obs: Tensor, u: Tensor, valid: Tensor | None) -> Tensor:
        """ε-greedy actions ``[L]`` in ``obs`` ``[L, *obs]``; ``u`` ``[L, 2]`` uniform in [0, 1)."""
        values = self.q_values(self.online(obs[:, None]))[:, 0]
        return epsilon_greedy(values, u, self.epsilon, valid)

    def sometimes_random(self, action: Tensor, valid: Tensor | None) -> Tensor:
        """The action ``[L]`` of a method that explores in its own way, or, with ε, a random one."""
        u = self._explore.at(self.clock)
        return epsilon_random(action, self._all_valid.shape[-1], u, self.epsilon, valid)

    @property
    def epsilon(self) -> Tensor:
        """ε of the coming step, ``[]``."""
        config = self.config
        return linear_schedule(
            self.clock.tensor,
            config.epsilon_first,
            config.epsilon_last,
            self.start,
            config.epsilon_steps,
        )

    def metrics(self) -> Mapping[str, Tensor]:
        """The last loss, and ε."""
        return {**super().metrics(), "epsilon": self.epsilon.expand_as(self._loss)}
