"""The three-state process of Appendix C.2: two actions with known return distributions.

From s₀ either action ends the episode, in s₁ or s₂. Action 0 pays a mixture of two Gaussians,
action 1 the second of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import LaneEnv, OptimalQ, Outcome, TimeLimit
from uqbench.lanes import Normal, Uniform
from uqbench_sentinel.estimation.composite import standard_atoms

STATES = 3


@dataclass(frozen=True)
class ThreeStatesConfig:
    """The two Gaussians; the defaults are the paper's, whose mixture has one mode.

    Attributes:
        first_mean: μ₀.
        second_mean: μ₁.
        std: σ of both.
        first_weight: Φ₀, the chance of the first in action 0.
    """

    first_mean: float = 1.0
    second_mean: float = 0.95
    std: float = 0.1
    first_weight: float = 0.5


class ThreeStates(LaneEnv):
    """One step, two actions, returns of known distribution.

    Observations are the states, one-hot.

    Source: Eriksson et al. 2022, Appendix C.2
    """

    n_actions = 2

    def __init__(
        self,
        config: ThreeStatesConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.observation_space = spaces.Box(0, 1, (STATES,), np.float32)
        self._config = config
        self._device = device or torch.device("cpu")
        self._lanes = len(seeds)
        self._which = Uniform(seeds, "which", (), self._device)
        self._noise = Normal(seeds, "noise", (), self._device)
        self._t = 0

    def reset(self) -> tuple[Tensor, None]:
        """Start in s₀."""
        self._t = 0
        return self._state(torch.zeros(self._lanes, dtype=torch.int64, device=self._device)), None

    def step(self, action: Tensor) -> Outcome:
        """End the episode with a reward drawn for the action."""
        config = self._config
        first = (action == 0) & (self._which.at(self._t) < config.first_weight)
        mean = torch.where(first, config.first_mean, config.second_mean)
        reward = mean + config.std * self._noise.at(self._t)
        self._t += 1
        ends = torch.ones_like(first)
        return Outcome(
            reward=reward,
            terminated=ends,
            truncated=~ends,
            next_obs=self._state(action + 1),
            obs=self._state(torch.zeros_like(action)),
        )

    def _state(self, number: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(number, STATES).float()

    def state_dict(self) -> dict[str, Any]:
        """The step: rewards are a function of it."""
        return {"t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t = state["t"]


def return_distributions(config: ThreeStatesConfig, _discount: float) -> OptimalQ:
    """Q* of s₀, and return distributions of 800 atoms; the discount plays no part."""
    atoms = standard_atoms()
    gaussians = torch.tensor([config.first_mean, config.second_mean], dtype=torch.float64)
    values = (gaussians[:, None] + config.std * atoms).flatten().expand(1, 2, -1)
    weights = torch.tensor([[config.first_weight, 1 - config.first_weight], [0.0, 1.0]])
    probs = (weights.double() / len(atoms)).repeat_interleave(len(atoms), -1)[None]
    start = torch.nn.functional.one_hot(torch.tensor([0]), STATES).float()
    return OptimalQ(start, (values * probs).sum(-1), values, probs)
