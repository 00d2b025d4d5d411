"""The map of the windy cliff: its cells, for one picture of an agent's uncertainty about all."""

from __future__ import annotations

import numpy as np

from uqbench.pictures import StateMap
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import CELLS, GOAL, HEIGHT, WIDTH

ACTIONS = ("up", "right", "down", "left")


def place(cell: int) -> tuple[int, int]:
    """Row from the top, and column."""
    row, column = divmod(cell, WIDTH)
    return HEIGHT - 1 - row, column


def state_map(_: CliffConfig) -> StateMap:
    """Every cell but the goal, at the first step of an episode."""
    cells = [cell for cell in range(CELLS) if cell != GOAL]
    obs = np.zeros((len(cells), CELLS + 1), np.float32)
    obs[np.arange(len(cells)), cells] = 1.0
    return StateMap(obs, np.array([place(cell) for cell in cells]), ACTIONS)
