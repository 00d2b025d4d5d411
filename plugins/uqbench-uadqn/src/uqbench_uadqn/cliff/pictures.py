"""The map of the windy cliff: its cells, for one picture of an agent's uncertainty about all."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from uqbench.contract.pictures import StateMap
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.grid import CELLS, HEIGHT, WIDTH
from uqbench_uadqn.cliff.ground_truth import reachable

ACTIONS = ("up", "right", "down", "left")


def place(cell: int) -> tuple[int, int]:
    """Row from the top, and column."""
    row, column = divmod(cell, WIDTH)
    return HEIGHT - 1 - row, column


def state_map(config: CliffConfig) -> StateMap:
    """Every cell in which an episode can stand, at the first step at which it can."""
    standing = reachable(config)
    cells = standing.any(0).nonzero()[:, 0]
    first = standing[:, cells].int().argmax(0)
    obs = torch.cat([F.one_hot(cells, CELLS), first[:, None]], -1).float()
    return StateMap(obs.numpy(), np.array([place(int(cell)) for cell in cells]), ACTIONS)
