"""Pictures of the windy cliff: the ledge dark, the goal green, the agent white."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uqbench.pictures import Frame, StateMap
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import CELLS, GOAL, HEIGHT, LEDGE, WIDTH

SIDE = 32
"""Pixels of a cell."""
ACTIONS = ("up", "right", "down", "left")


def place(cell: int) -> tuple[int, int]:
    """Row from the top, and column."""
    row, column = divmod(cell, WIDTH)
    return HEIGHT - 1 - row, column


def frame(_: CliffConfig, obs: NDArray[np.float32]) -> Frame:
    """The grid, for an observation ``[CELLS + 1]``."""
    picture = np.full((HEIGHT * SIDE, WIDTH * SIDE, 3), 70, np.uint8)
    for cell in range(CELLS):
        row, column = place(cell)
        rows = slice(row * SIDE + 1, (row + 1) * SIDE - 1)
        tile = picture[rows, column * SIDE + 1 : (column + 1) * SIDE - 1]
        tile[:] = (110, 110, 120)
        if cell == GOAL:
            tile[:] = 40, 120, 60
        elif cell in LEDGE:
            tile[:] = 120, 60, 40
        if cell == int(obs[:CELLS].argmax()):
            tile[6:-6, 6:-6] = 255
    return picture


def state_map(_: CliffConfig) -> StateMap:
    """Every cell but the goal, at the first step of an episode."""
    cells = [cell for cell in range(CELLS) if cell != GOAL]
    obs = np.zeros((len(cells), CELLS + 1), np.float32)
    obs[np.arange(len(cells)), cells] = 1.0
    return StateMap(obs, np.array([place(cell) for cell in cells]), ACTIONS)
