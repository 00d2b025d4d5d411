"""What is known exactly about the windy cliff, by dynamic programming over the grid's tables.

Returns are undiscounted, as in the paper, unless a discount is given: the goal is worth 10, every
step costs 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import (
    CELLS,
    DOWN,
    GOAL,
    GOAL_REWARD,
    RIGHT,
    START,
    STEP_REWARD,
    UP,
    grid,
)

RISKY_PATH = (RIGHT, RIGHT, RIGHT, RIGHT)
"""Along the ledge: four steps."""

SAFE_PATH = (UP, RIGHT, RIGHT, RIGHT, RIGHT, DOWN)
"""Around it: six steps."""

HORIZON = 15
"""Steps after which the paper's episodes end."""


@dataclass(frozen=True)
class ReturnDistribution:
    """The distribution of an episode's return.

    Attributes:
        probabilities: of each possible return; they sum to one.
        fall: probability that the episode ends in a fall.
    """

    probabilities: Mapping[float, float]
    fall: float

    @property
    def mean(self) -> float:
        """Expected return."""
        return sum(value * p for value, p in self.probabilities.items())

    @property
    def variance(self) -> float:
        """Its variance: what an aleatoric uncertainty should be."""
        mean = self.mean
        return sum((value - mean) ** 2 * p for value, p in self.probabilities.items())


def return_distribution(config: CliffConfig, actions: Sequence[int]) -> ReturnDistribution:
    """The return distribution of walking ``actions`` from the start, which ends at the goal.

    Raises:
        ValueError: the actions do not lead to the goal.
    """
    tables = grid(config)
    probabilities: dict[float, float] = {}
    cell, collected, walking = START, 0.0, 1.0
    for action in actions:
        fall = float(tables.fall[cell, action])
        cell, collected = int(tables.leads_to[cell, action]), collected + STEP_REWARD
        if fall:
            probabilities[collected] = probabilities.get(collected, 0.0) + walking * fall
        walking *= 1 - fall
    if cell != GOAL:
        raise ValueError(f"expected actions that end in cell {GOAL}, the goal; they end in {cell}")
    arrived = collected + GOAL_REWARD
    probabilities[arrived] = probabilities.get(arrived, 0.0) + walking
    return ReturnDistribution(probabilities, 1 - walking)


def optimal_values(config: CliffConfig, horizon: int = HORIZON, discount: float = 1.0) -> Tensor:
    """Bellman's optimality equation backwards in time: ``Q*``, ``[horizon, CELLS, ACTIONS]``.

    ``Q*(t, s, a) = r + (1 − P(fall)) (10 if s' is the goal else γ max_a' Q*(t + 1, s', a'))``, and
    nothing after ``horizon`` steps; float64. Nothing leaves the goal: its values are zero.
    """
    tables = grid(config)
    values = torch.zeros(horizon + 1, CELLS, dtype=torch.float64)
    q = torch.zeros(horizon, *tables.fall.shape, dtype=torch.float64)
    for t in reversed(range(horizon)):
        after = discount * values[t + 1]
        after[GOAL] = GOAL_REWARD
        q[t] = STEP_REWARD + (1 - tables.fall) * after[tables.leads_to]
        q[t, GOAL] = 0.0
        values[t] = q[t].amax(-1)
    return q


def optimal_return(config: CliffConfig) -> float:
    """Expected return of the best policy, which is indifferent to risk."""
    return float(optimal_values(config)[0, START].max())


def fall_rate(config: CliffConfig, policy: Tensor, horizon: int = HORIZON) -> float:
    """Falls per step in the long run of a stationary policy ``[CELLS, ACTIONS]``.

    ``P(fall) / E[length]`` of its episodes, which are all alike.
    """
    tables = grid(config)
    standing = torch.zeros(CELLS, dtype=torch.float64)
    standing[START] = 1.0
    falls, length = 0.0, 0.0
    for _ in range(horizon):
        chosen = standing[:, None] * policy
        falls += float((chosen * tables.fall).sum())
        length += float(standing.sum())
        standing = torch.zeros_like(standing).index_add(
            0, tables.leads_to.flatten(), (chosen * (1 - tables.fall)).flatten()
        )
        standing[GOAL] = 0.0
    return falls / length
