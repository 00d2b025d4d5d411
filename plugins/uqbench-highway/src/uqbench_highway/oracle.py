"""The oracle: ``highway-v0`` of the package, with crashes as events.

Eriksson et al. 2022 name ``highway-v1``, which highway-env never had.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import highway_env  # noqa: F401 (registers its environments)
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from uqbench_highway.config import FEATURES, HighwayConfig


class Highway(gymnasium.Wrapper[NDArray[np.float32], int, NDArray[np.float32], int]):
    """Flat observations ``[5 · vehicles]``; a crash is the event ``crashes``.

    It has no time limit of its own: the task sets one and says what its end means.
    """

    def __init__(self, config: HighwayConfig) -> None:
        super().__init__(gymnasium.make("highway-v0", config=config.package_config()))
        size = FEATURES * config.observed_vehicles
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(self, **arguments: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        obs, info = self.env.reset(**arguments)
        return obs.ravel(), info

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take a meta-action: lane left, idle, lane right, faster, slower."""
        obs, reward, terminated, _, info = self.env.step(action)
        events = {"crashes": float(info["crashed"])}
        return obs.ravel(), float(reward), bool(terminated), False, info | {"events": events}
