"""Pictures of DeepSea: its states in a row, the agent's in white, the reward's in green."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uqbench.pictures import Frame, StateMap
from uqbench_tabular.environments.config import DeepSeaConfig

SIDE = 24
"""Pixels of a state."""


def deep_sea_frame(config: DeepSeaConfig, obs: NDArray[Any]) -> Frame:
    """The row of states, for the number of one."""
    picture = np.full((SIDE, config.states * SIDE, 3), 70, np.uint8)
    for state in range(config.states):
        tile = picture[1:-1, state * SIDE + 1 : (state + 1) * SIDE - 1]
        tile[:] = (40, 120, 60) if state == config.states - 1 else (40, 60, 130)
        if state == int(obs):
            tile[5:-5, 5:-5] = 255
    return picture


def deep_sea_map(config: DeepSeaConfig) -> StateMap:
    """All states in a row."""
    states = np.arange(config.states)
    places = np.stack([np.zeros_like(states), states], axis=1)
    return StateMap(states, places, ("left", "right"))
