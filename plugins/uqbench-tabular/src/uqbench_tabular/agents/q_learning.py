"""Q-learning with ε-greedy exploration (Watkins 1989): the paper's baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo, Step, Uncertainty
from uqbench_tabular.agents.config import QLearningConfig
from uqbench_tabular.agents.exploration import EpsilonGreedy
from uqbench_tabular.agents.tabular import TabularAgent, at_states


class QLearning(TabularAgent):
    """Q-learning with ε-greedy exploration.

    Learns at every step from values that begin at zero, and predicts no uncertainty about them.

    Source: Watkins 1989; the baseline of Markou & Rasmussen 2019
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: QLearningConfig,
        device: torch.device,
    ) -> None:
        super().__init__(info, seeds, device)
        self.config = config
        self.values = torch.zeros(self.shape, dtype=torch.float64, device=device)
        self.exploration = EpsilonGreedy(config.epsilon, seeds, "q-learning/explore", device)

    def act_in(self, obs: Tensor, valid: Tensor | None) -> Tensor:
        """ε-greedy among the available actions."""
        seen = self.remember_mask(obs, valid)
        return self.exploration.choose(self.values[self.lanes, obs], self.t, seen)

    def learn(self, step: Step) -> None:
        """``Q(s, a) ← Q(s, a) + η (r + γ max_a' Q(s', a') − Q(s, a))``.

        Raises:
            ValueError: an episode ended.
        """
        self.require_continuing(step)
        at = (self.lanes, step.obs, step.action)
        allowed = self.remember_mask(step.next_obs, step.valid_actions)
        following = self.values[self.lanes, step.next_obs].masked_fill(~allowed, -torch.inf)
        target = step.reward.double() + self.discount * following.amax(-1)
        before = self.values[at]
        after = before + self.config.learning_rate * (target - before)
        self.values = self.values.index_put(at, after)
        self.t += 1

    def action_values(self) -> Tensor:
        """Q, ``[L, S, A]``."""
        return self.values

    def uncertainty(self, obs: Tensor) -> Uncertainty:
        """The values alone."""
        return Uncertainty(mean=at_states(self.values, obs))

    def state_dict(self) -> dict[str, Any]:
        """The values, the masks seen and the step."""
        return {"t": self.t, "available": self.available, "values": self.values}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``, whose tensors are never written to."""
        self.t, self.available, self.values = state["t"], state["available"], state["values"]
