"""The grid as tables: where each action leads, and how likely it ends in a fall.

Two rows of five cells, numbered from the start, bottom left, to the right; the top row follows. The
goal is the cell at the bottom right; the ledge is the three cells between the two. Clements et al.
2019, Figure 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from uqbench_uadqn.cliff.config import CliffConfig

WIDTH, HEIGHT = 5, 2
CELLS = WIDTH * HEIGHT
START, GOAL = 0, WIDTH - 1
LEDGE = range(START + 1, GOAL)

UP, RIGHT, DOWN, LEFT = range(4)
ACTIONS = 4

STEP_REWARD = -1.0
GOAL_REWARD = 10.0
"""Added to the step's; a fall adds nothing, but ends the episode."""


@dataclass(frozen=True)
class Grid:
    """What an action does in a cell.

    Attributes:
        leads_to: ``[CELLS, ACTIONS]`` int64, the cell where the agent stands if it does not fall.
        fall: ``[CELLS, ACTIONS]`` float64, the probability of a fall.
    """

    leads_to: Tensor
    fall: Tensor


def grid(config: CliffConfig) -> Grid:
    """Moves into a wall stay; a step down from the ledge always falls."""
    leads_to = torch.zeros(CELLS, ACTIONS, dtype=torch.int64)
    fall = torch.zeros(CELLS, ACTIONS, dtype=torch.float64)
    for cell in range(CELLS):
        row, column = divmod(cell, WIDTH)
        for action, (up, right) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            there = (
                WIDTH * min(max(row + up, 0), HEIGHT - 1)
                + min(max(column + right, 0), WIDTH - 1)
            )  # fmt: skip
            leads_to[cell, action] = there
            if cell in LEDGE and action == DOWN:
                fall[cell, action] = 1.0
            elif there in LEDGE:
                fall[cell, action] = config.wind
    return Grid(leads_to, fall)
