"""The bets and ledges as an environment: learned from anywhere, judged from the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.agent import EnvironmentInfo
from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.contract.specs import NoConfig
from uqbench.lanes import Uniform, greedy
from uqbench.registry.builtin.trivial import FixedPolicy
from uqbench_profile.risk_truth import best_for_cvar
from uqbench_profile.risk_worlds import ACTIONS, WORLDS


class RiskBets(LaneEnv):
    """Bets and ledges with exploring starts, so that no score is owed to exploration.

    An episode starts in any state with an action of the world's choice, the only valid one; after
    that all are. Observations are states, one-hot, and the money won, ``[L, M + 1]``; the last one
    of an episode has no state.

    Source: uqbench; exploring starts as in Sutton & Barto 2018, section 5.3
    """

    n_actions = len(ACTIONS)
    observation_space = spaces.Box(-2, 2, (WORLDS.end + 1,), np.float32)

    def __init__(
        self,
        config: NoConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self._device = device or torch.device("cpu")
        self._worlds = WORLDS.to(self._device)
        self._limit = time_limit
        self._drawn = Uniform(seeds, "bets", (3,), self._device)
        self._free = torch.ones(len(seeds), len(ACTIONS), dtype=torch.bool, device=self._device)
        self._begin()

    def _begin(self) -> None:
        self._t = 0
        self._length = torch.zeros(len(self._free), dtype=torch.int64, device=self._device)
        self._state, self._valid = self._started()

    def _started(self) -> tuple[Tensor, Tensor]:
        """States ``[L]`` in which an episode may begin at this step, and their one valid action."""
        _, where, action = self._drawn.at(self._t).unbind(-1)
        forced = (action * len(ACTIONS)).long()
        valid = torch.nn.functional.one_hot(forced, len(ACTIONS)).bool()
        return (where * self._worlds.end).long(), valid

    def reset(self) -> tuple[Tensor, Tensor]:
        """Start anywhere."""
        self._begin()
        return self._observed(), self._valid

    def step(self, action: Tensor) -> Outcome:
        """Pay, and go on or start again.

        Raises:
            ValueError: an action is not valid.
        """
        if not bool(self._valid.gather(-1, action[:, None]).all()):
            raise ValueError(
                f"expected actions that are valid, of {self._valid.tolist()}, got {action.tolist()}"
            )
        worlds, at = self._worlds, (self._state, action)
        other = (self._drawn.at(self._t)[:, 0] >= worlds.p[*at, 0]).long()
        reward, after = worlds.reward[*at, other], worlds.after[*at, other]
        won = worlds.money[self._state] + reward
        self._t += 1
        self._length = self._length + 1
        terminated = after == worlds.end
        truncated = torch.zeros_like(terminated)
        if self._limit is not None:
            due = ~terminated & (self._length >= self._limit.steps)
            terminal = self._limit.kind == "terminal"
            terminated, truncated = terminated | (due & terminal), due & (not terminal)
        ended = terminated | truncated
        state, valid = self._started()
        self._state = torch.where(ended, state, after)
        self._valid = torch.where(ended[:, None], valid, self._free)
        self._length = self._length * ~ended
        return Outcome(
            reward=reward.float(),
            terminated=terminated,
            truncated=truncated,
            next_obs=worlds.observed(after, won),
            obs=self._observed(),
            next_valid=self._free,
            valid=self._valid,
        )

    def _observed(self) -> Tensor:
        return self._worlds.observed(self._state, self._worlds.money[self._state])

    def state_dict(self) -> dict[str, Any]:
        """The step, the states, what is valid in them, and how long the episodes are."""
        return {
            "t": self._t,
            "state": self._state.clone(),
            "valid": self._valid.clone(),
            "length": self._length.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t, self._state = state["t"], state["state"]
        self._valid, self._length = state["valid"], state["length"]


class BestForCVaR(FixedPolicy):
    """Plays the policy with the highest CVaR from every start.

    Source: Bäuerle & Ott 2011, "Markov decision processes with average-value-at-risk criteria"
    """

    def __init__(
        self,
        info: EnvironmentInfo,
        seeds: Sequence[int],
        config: NoConfig,
        device: torch.device,
    ) -> None:
        self._policy = best_for_cvar().to(device)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        """Its action, where it is valid."""
        action = self._policy[obs[..., :-1].argmax(-1)]
        return greedy(torch.nn.functional.one_hot(action, len(ACTIONS)).float(), valid)
