"""Q-learning with ε-greedy exploration (Watkins 1989): the paper's baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.agent import EnvSpec, Step, Uncertainty
from uqbench.lanes import Uniform, epsilon_greedy
from uqbench_tabular.config import QLearningConfig
from uqbench_tabular.tabular import TabularAgent, at_states


class QLearning(TabularAgent):
    """Learns at every step and states its values, but no uncertainty about them."""

    def __init__(
        self, spec: EnvSpec, seeds: Sequence[int], config: QLearningConfig, device: torch.device
    ) -> None:
        super().__init__(spec, seeds, device)
        self.config = config
        self.values = torch.full(
            self.shape, config.initial_value, dtype=torch.float64, device=device
        )
        self._explore = Uniform(seeds, "q-learning/explore", (2,), device)

    def act(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """ε-greedy among the available actions."""
        seen = self.see(obs, valid)
        values = self.values[self.lanes, obs]
        return epsilon_greedy(values, self._explore.at(self.t), self.config.epsilon, seen)

    def observe(self, step: Step) -> None:
        """``Q(s, a) ← Q(s, a) + η (r + γ max_a' Q(s', a') − Q(s, a))``.

        Raises:
            ValueError: an episode ended.
        """
        self.refuse_ends(step)
        at = (self.lanes, step.obs, step.action)
        allowed = self.see(step.next_obs, step.valid_actions)
        following = self.values[self.lanes, step.next_obs].masked_fill(~allowed, -torch.inf)
        target = step.reward.double() + self.discount * following.amax(-1)
        before = self.values[at]
        after = before + self.config.learning_rate * (target - before)
        self.values = self.values.index_put(at, after)
        self.t = step.t + 1

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
        """Take over what ``state_dict`` returned; no tensor of it is ever written to."""
        self.t, self.available, self.values = state["t"], state["available"], state["values"]
