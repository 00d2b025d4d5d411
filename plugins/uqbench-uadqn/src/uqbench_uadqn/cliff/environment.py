"""The windy cliff for lanes: an agent walks to the goal along a ledge, or around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor
from torch.nn import functional as F

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.lanes import Clock, Uniform
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import (
    ACTIONS,
    CELLS,
    GOAL,
    GOAL_REWARD,
    LEDGE,
    START,
    STEP_REWARD,
    grid,
)


class WindyCliff(LaneEnv):
    """A grid of 2 × 5: along a windy ledge to the goal, or around it.

    Every step costs 1, the goal pays 10, and a fall ends the episode without a further reward.
    Observations are the cell, one-hot, and the number of steps in the episode, unscaled:
    ``[L, CELLS + 1]``. Events are ``falls``, and 1 on the step that reaches the goal: ``safe_path``
    in an episode that was never on the ledge, ``risky_path`` in the others. The wind is a function
    of the lane's seed and the step.

    Source: Clements et al. 2019, section 3.1
    """

    n_actions = ACTIONS

    def __init__(
        self,
        config: CliffConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        device = device or torch.device("cpu")
        high = np.ones(CELLS + 1, np.float32)
        high[-1] = np.inf if time_limit is None else time_limit.steps
        self.observation_space = spaces.Box(np.zeros_like(high), high)
        tables = grid(config)
        self._leads_to = tables.leads_to.to(device)
        self._fall = tables.fall.to(device)
        self._time_limit = time_limit
        self._clock = Clock(device)
        self._wind = Uniform(seeds, "wind", (), device)
        self._cell = torch.full((len(seeds),), START, device=device)
        self._length = torch.zeros(len(seeds), dtype=torch.int64, device=device)
        self._exposed = torch.zeros(len(seeds), dtype=torch.bool, device=device)

    def reset(self) -> tuple[Tensor, None]:
        """Start in the first cell, with the first gust of the seed."""
        self._clock.load_state_dict({"t": 0})
        self._cell.fill_(START)
        self._length.zero_()
        self._exposed.zero_()
        return self._observed(), None

    def step(self, action: Tensor) -> Outcome:
        """Move, and let the wind blow; lanes whose episode ended return to the start.

        Raises:
            IndexError: an action is not 0 to 3 (on a CPU).
        """
        fell = self._wind.at(self._clock) < self._fall[self._cell, action]
        self._cell = self._leads_to[self._cell, action]
        self._exposed |= (self._cell >= LEDGE.start) & (self._cell < LEDGE.stop)
        self._length += 1
        arrived = (self._cell == GOAL) & ~fell
        terminated, truncated = fell | arrived, torch.zeros_like(fell)
        if self._time_limit is not None:
            late = self._length >= self._time_limit.steps
            if self._time_limit.kind == "terminal":
                terminated = terminated | late
            else:
                truncated = late & ~terminated
        final = self._observed()
        safe, risky = arrived & ~self._exposed, arrived & self._exposed
        self._begin(terminated | truncated)
        self._clock.advance()
        return Outcome(
            reward=STEP_REWARD + GOAL_REWARD * arrived,
            terminated=terminated,
            truncated=truncated,
            next_obs=final,
            obs=self._observed(),
            events={
                "falls": fell.float(),
                "safe_path": safe.float(),
                "risky_path": risky.float(),
            },
        )

    def _begin(self, ended: Tensor) -> None:
        self._cell = self._cell.masked_fill(ended, START)
        self._length = self._length.masked_fill(ended, 0)
        self._exposed = self._exposed & ~ended

    def _observed(self) -> Tensor:
        cell = F.one_hot(self._cell, CELLS)
        return torch.cat([cell, self._length[:, None]], dim=-1).float()

    def state_dict(self) -> dict[str, Any]:
        """Where the walkers are, how long they have walked, whether on the ledge, and the step."""
        return {
            "clock": self._clock.state_dict(),
            "cell": self._cell.clone(),
            "length": self._length.clone(),
            "exposed": self._exposed.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._clock.load_state_dict(state["clock"])
        self._cell.copy_(state["cell"])
        self._length.copy_(state["length"])
        self._exposed.copy_(state["exposed"])
