"""DeepSea (Osband et al. 2018, section 4.1), with a score: how soon it is solved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from uqbench.contract.environment import LaneEnv, Outcome, TimeLimit
from uqbench.lanes import Normal, generators
from uqbench_profile.config import DeepSeaConfig

MOVE_COST = 0.01
WINDOW, GOALS = 10, 5
"""A sea is solved by the episode with which ``GOALS`` of the last ``WINDOW`` reached the goal."""
TELEVISION = 2


def right_actions(config: DeepSeaConfig, seeds: Sequence[int]) -> Tensor:
    """The action of 0 and 1 that leads to the right, drawn for each cell, ``[L, N, N]`` int64."""
    shape = (config.size, config.size)
    drawn = [one.integers(2, size=shape) for one in generators(seeds, "action map", 0)]
    return torch.from_numpy(np.stack(drawn))


def observations(config: DeepSeaConfig, seeds: Sequence[int]) -> Tensor:
    """What each cell looks like, ``[L, N², D]`` float32, D being N², or 2 N of ``features``."""
    size = config.size
    cells = torch.eye(size * size)
    if config.observed == "one-hot":
        return cells.expand(len(seeds), -1, -1)
    drawn = generators(seeds, "observations", 0)
    if config.observed == "pixels":
        row, column = torch.arange(size * size) // size, torch.arange(size * size) % size
        away = (row[:, None] - row).abs() + (column[:, None] - column).abs()
        image = (away <= 1).float()
        return torch.stack([image[:, one.permutation(size * size)] for one in drawn])
    one_hot = torch.eye(size).double()
    both = torch.cat([one_hot.repeat_interleave(size, 0), one_hot.repeat(size, 1)], -1)
    normal = torch.from_numpy(np.stack([one.standard_normal((2 * size,) * 2) for one in drawn]))
    rotation: Tensor = torch.linalg.qr(normal).Q
    return (both @ rotation).float()


def exploration_score(config: DeepSeaConfig, episodes: int) -> float:
    """``log(T_d / T) / log(T_d / T_p)``, at least 0, of a sea solved by episode T.

    0 is dithering, ``T_d = A^N`` episodes; 1 is posterior sampling by one who knows the sea but not
    the action map, who errs once in every second cell of the diagonal: ``T_p = N / 2 + 5``.
    """
    dithering, best = config.dithering, config.size / 2 + GOALS
    return max(0.0, math.log(dithering / episodes) / math.log(dithering / best))


class DeepSea(LaneEnv):
    """A sea of N × N cells: a dive sinks a row a step, and the treasure is on the far right.

    In every cell one of the actions 0 and 1, drawn for each cell and lane, leads to the right and
    costs 0.01 / N, the other to the left; the right one in the last cell on the diagonal pays 1,
    and no other way pays. Observations are cells, one-hot, ``[L, N²]``; the last one of an episode
    is the cell of the last row above which it ended; or each cell is what ``observed`` makes of it.
    Events: ``goals``, and ``exploration``, the :func:`exploration_score`, once, on the step that
    solves the sea.

    Source: Osband et al. 2018, "Randomized prior functions for deep reinforcement learning"
    """

    def __init__(
        self,
        config: DeepSeaConfig,
        seeds: Sequence[int],
        time_limit: TimeLimit | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.config = config
        self.n_actions = config.n_actions
        self._seen = observations(config, seeds).to(device or torch.device("cpu"))
        low = -2 if config.observed == "features" else 0
        high = 2 if config.observed == "features" else 1
        self.observation_space = spaces.Box(low, high, self._seen.shape[2:], np.float32)
        self._limit = time_limit
        self._device = device or torch.device("cpu")
        self._right = right_actions(config, seeds).to(self._device)
        self._normal = Normal(seeds, "reward", (), self._device)
        self._lane = torch.arange(len(seeds), device=self._device)
        self._begin()

    def _begin(self) -> None:
        lanes = len(self._lane)
        self._t = self._row = self._episodes = 0
        self._column = torch.zeros(lanes, dtype=torch.int64, device=self._device)
        self._recent = torch.zeros(lanes, WINDOW, dtype=torch.bool, device=self._device)
        self._solved = torch.zeros(lanes, dtype=torch.bool, device=self._device)

    def reset(self) -> tuple[Tensor, None]:
        """Start on the surface, on the far left."""
        self._begin()
        return self._observed(0), None

    def step(self, action: Tensor) -> Outcome:
        """Sink a row; all lanes dive together.

        Raises:
            ValueError: an action is not one of the A.
        """
        if bool(((action < 0) | (action >= self.n_actions)).any()):
            raise ValueError(f"expected actions 0 to {self.n_actions - 1}, got {action.tolist()}")
        size, row = self.config.size, self._row
        last = row == size - 1
        limit = self._limit if self._limit and row + 1 >= self._limit.steps else None
        truncates = limit is not None and not last and limit.kind == "truncation"
        right = action == self._right[self._lane, row, self._column]
        goal = right & (self._column == size - 1)
        reward = goal.float() - right * (MOVE_COST / size)
        noise = self._normal.at(self._t)
        if last:
            reward = reward + self.config.noise * noise
        reward = reward + (action == TELEVISION) * noise
        self._column = (self._column + 2 * right.long() - 1).clamp(0, size - 1)
        next_obs = self._observed(min(row + 1, size - 1))
        self._t += 1
        self._row += 1
        ends = last or limit is not None
        score = self._end(goal) if ends else torch.zeros_like(reward)
        return Outcome(
            reward=reward,
            terminated=torch.full_like(goal, ends and not truncates),
            truncated=torch.full_like(goal, truncates),
            next_obs=next_obs,
            obs=self._observed(0) if ends else next_obs,
            events={"goals": goal.float(), "exploration": score},
        )

    def _end(self, goal: Tensor) -> Tensor:
        """Count the episode and return to the surface; the scores of the lanes that it solves."""
        self._recent = torch.cat([self._recent[:, 1:], goal[:, None]], 1)
        solved = (self._recent.sum(-1) >= GOALS) & ~self._solved
        self._solved = self._solved | solved
        self._column = torch.zeros_like(self._column)
        self._row = 0
        self._episodes += 1
        return solved * exploration_score(self.config, self._episodes)

    def _observed(self, row: int) -> Tensor:
        size = self.config.size
        return self._seen[self._lane, row * size + self._column]

    def state_dict(self) -> dict[str, Any]:
        """Where the divers are, how their last episodes ended, and the step."""
        return {
            "t": self._t,
            "row": self._row,
            "episodes": self._episodes,
            "column": self._column.clone(),
            "recent": self._recent.clone(),
            "solved": self._solved.clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self._t, self._row, self._episodes = state["t"], state["row"], state["episodes"]
        self._column = state["column"]
        self._recent = state["recent"]
        self._solved = state["solved"]
