"""The decision as an environment: a step is an episode, its reward the whole discounted return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.lanes import Normal
from uqbench_ube.chain.config import ChainConfig, best_return, mean_returns


class ChainLanes(LaneEnv):
    """One reward, or an endless chain of rewards; a step is an episode.

    The return of the chain, ``Σ_k γ^k r_k``, is drawn at once: it is ``N(μ₂ / (1 − γ), σ²)``. The
    event ``regret`` is the chosen action's expected loss against the best one.

    Source: O'Donoghue et al. 2018, Figure 1
    """

    n_actions = 2
    observation_space = spaces.Discrete(1)

    def __init__(
        self,
        config: ChainConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None,
        device: torch.device,
    ) -> None:
        means = torch.tensor(mean_returns(config), dtype=torch.float64)
        self._means = means.to(device)
        self._regrets = (best_return(config) - means).float().to(device)
        self._sigma = config.sigma
        self._noise = Normal(seeds, "ube-chain/returns", (), device)
        self._obs = torch.zeros(len(seeds), dtype=torch.int64, device=device)
        self._ended = torch.ones(len(seeds), dtype=torch.bool, device=device)
        self._t = 0

    def reset(self) -> tuple[Tensor, None]:
        """The root."""
        return self._obs, None

    def step(self, action: Tensor) -> Outcome:
        """Decide; every episode ends with that."""
        returned = self._means[action] + self._sigma * self._noise.at(self._t)
        self._t += 1
        return Outcome(
            reward=returned.float(),
            terminated=self._ended,
            truncated=~self._ended,
            next_obs=self._obs,
            obs=self._obs,
            events={"regret": self._regrets[action]},
        )

    def state_dict(self) -> dict[str, Any]:
        """How many decisions were taken."""
        return {"t": self._t}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t = state["t"]
