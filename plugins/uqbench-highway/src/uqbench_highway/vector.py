"""The simulation as an ordinary Gymnasium vector environment.

    import gymnasium
    envs = gymnasium.make_vec("uqbench_highway.vector:uqbench/Highway-v0", num_envs=64)

Importing this module registers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from torch import Tensor

from uqbench.contract.environment import Outcome, TimeLimit
from uqbench.lanes.adapters.vector import LaneVectorEnv
from uqbench_highway.config import FEATURES, HighwayConfig
from uqbench_highway.lanes import HighwayLanes

ID = "uqbench/Highway-v0"


class HighwayVectorEnv(LaneVectorEnv):
    """``num_envs`` roads stepped by one compiled call.

    Observations ``[num_envs, observed_vehicles, 5]`` and the five meta-actions are highway-v0's.
    For an episode that ended, ``infos["final_info"]`` has ``crashed``.

    Args:
        num_envs: number of environments.
        max_episode_steps: truncates episodes; None for no limit.
        config: fields of :class:`uqbench_highway.config.HighwayConfig`, by name.
    """

    def __init__(
        self, num_envs: int = 1, max_episode_steps: int | None = 40, **config: Any
    ) -> None:
        made = HighwayConfig(**config)
        if made.backend != "lanes":
            raise ValueError(
                f"the backend of {ID} must be 'lanes'; got {made.backend!r}: make the package's "
                f"own environment with gymnasium.make_vec('highway-v0', …)"
            )
        limit = None if max_episode_steps is None else TimeLimit(max_episode_steps, "truncation")

        def make(seeds: Sequence[int]) -> HighwayLanes:
            return HighwayLanes(made, seeds, limit)

        super().__init__(make, num_envs)
        shape = made.observed_vehicles, FEATURES
        self.single_observation_space = spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    def continued(self) -> tuple[Tensor, None]:
        """New episodes from the current random streams, as the package has them."""
        lanes = self.lanes
        assert isinstance(lanes, HighwayLanes)
        return lanes.begin(), None

    def _observed(self, obs: Tensor) -> NDArray[Any]:
        return super()._observed(obs).reshape(self.observation_space.shape or ())

    def _final_info(self, outcome: Outcome, over: NDArray[np.bool_]) -> dict[str, Any]:
        crashed = (outcome.events["crashes"].numpy() > 0) & over
        own = {"crashed": crashed, "_crashed": over.copy()}
        return super()._final_info(outcome, over) | own


gymnasium.register(
    ID,
    vector_entry_point="uqbench_highway.vector:HighwayVectorEnv",
    max_episode_steps=40,
)
