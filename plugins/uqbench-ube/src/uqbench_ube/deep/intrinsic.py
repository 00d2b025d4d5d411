"""DQN with intrinsic motivation: the baseline of O'Donoghue et al. 2018, section 5.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from uqbench_dqn.dqn import DQN
from uqbench_dqn.networks import QNetwork

from uqbench.contract.agent import EnvironmentInfo, Step
from uqbench_ube.deep.config import IntrinsicDQNConfig
from uqbench_ube.linear import InverseCounts


class IntrinsicDQN(DQN):
    """DQN, ε-greedy, with an exploration bonus in its rewards.

    The bonus, the root of the local uncertainty, is added to a reward once, when it is received.

    Source: O'Donoghue et al. 2018, section 5.1
    """

    config: IntrinsicDQNConfig
    online: QNetwork
    compiled = (*DQN.compiled, "features")

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: IntrinsicDQNConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, config, device)
        features = self.online.widths[1]
        self.counts = InverseCounts(len(seeds), info.n_actions, features, config.prior, device)
        self._bonus = torch.full((len(seeds), info.actors), torch.nan, device=device)

    @torch.no_grad()
    def features(self, obs: Tensor) -> Tensor:
        """The features φ ``[L, K, D]`` of ``obs`` ``[L, K, *obs]``."""
        return self.online.features(self.online.trunk(obs))

    def observe(self, step: Step) -> None:
        """Update Σ_a, which gives the bonus; then as DQN."""
        inverse_count = self.counts.update(self.features(step.obs), step.action)
        self._bonus.copy_(self.config.bonus * inverse_count.sqrt().float())
        super().observe(step)

    def reward(self, step: Step) -> Tensor:
        """Equation 4 as a bonus: ``r + β (φᵀ Σ_a φ)^½``, with Σ_a before this step."""
        return super().reward(step) + self._bonus

    def metrics(self) -> Mapping[str, Tensor]:
        """As DQN's, and the last bonus, averaged over the actors."""
        return {**super().metrics(), "bonus": self._bonus.mean(-1)}
