"""The map of DeepSea: its states in a row."""

from __future__ import annotations

import numpy as np

from uqbench.contract.pictures import StateMap
from uqbench_tabular.environments.config import DeepSeaConfig


def deep_sea_map(config: DeepSeaConfig) -> StateMap:
    """All states in a row."""
    states = np.arange(config.states)
    places = np.stack([np.zeros_like(states), states], axis=1)
    return StateMap(states, places, ("left", "right"))
