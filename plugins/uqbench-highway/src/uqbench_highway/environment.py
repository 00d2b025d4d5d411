"""``highway-v0`` of highway-env with crashes as events.

Eriksson et al. 2022 name ``highway-v1``, which highway-env never had.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import gymnasium
import highway_env  # noqa: F401 (registers its environments)
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


@dataclass(frozen=True)
class HighwayOptions:
    """The settings of highway-env that a step depends on; the rest draws pictures.

    The defaults are the package's (1.12.1) but for the paper's five lanes and ten other vehicles.

    Attributes:
        lanes_count: lanes of the road.
        vehicles_count: other vehicles.
        vehicles_density: of the traffic at the start, relative to the package's spacing.
        initial_lane_id: lane of the controlled vehicle at the start; None draws it.
        ego_spacing: free space around it at the start, in spacings.
        other_vehicles_type: how the others drive.
        observed_vehicles: in an observation, the controlled one included: presence, x, y, vx and
            vy of each.
        simulation_frequency: of the physics, Hz.
        policy_frequency: of actions, Hz.
        collision_reward: for a crash, before the reward is scaled to [0, 1].
        right_lane_reward: in the rightmost lane; linear in the lane.
        high_speed_reward: at the upper end of ``reward_speed_range``; linear in the speed.
        lane_change_reward: for each change.
        reward_speed_range: m/s.
        normalize_reward: whether rewards are scaled to [0, 1].
        offroad_terminal: whether leaving the road ends the episode.
    """

    lanes_count: int = 5
    vehicles_count: int = 10
    vehicles_density: float = 1.0
    initial_lane_id: int | None = None
    ego_spacing: float = 2.0
    other_vehicles_type: str = "highway_env.vehicle.behavior.IDMVehicle"
    observed_vehicles: int = 5
    simulation_frequency: int = 15
    policy_frequency: int = 1
    collision_reward: float = -1.0
    right_lane_reward: float = 0.1
    high_speed_reward: float = 0.4
    lane_change_reward: float = 0.0
    reward_speed_range: tuple[float, float] = (20.0, 30.0)
    normalize_reward: bool = True
    offroad_terminal: bool = False

    def package_config(self) -> dict[str, Any]:
        """What ``gymnasium.make("highway-v0", config=…)`` takes."""
        config = dataclasses.asdict(self)
        observed = config.pop("observed_vehicles")
        return config | {
            "observation": {"type": "Kinematics", "vehicles_count": observed},
            "action": {"type": "DiscreteMetaAction"},
            "reward_speed_range": list(self.reward_speed_range),
        }


class Highway(gymnasium.Wrapper[NDArray[np.float32], int, NDArray[np.float32], int]):
    """Observations in a row, ``[5 · vehicles]``; a crash is the event ``crashes``.

    It has no time limit of its own: the task's holds, and says what its end means.
    """

    def __init__(self, options: HighwayOptions) -> None:
        super().__init__(gymnasium.make("highway-v0", config=options.package_config()))
        size = 5 * options.observed_vehicles
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def reset(self, **arguments: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        obs, info = self.env.reset(**arguments)
        return obs.ravel(), info

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take a meta-action: lane left, idle, lane right, faster, slower."""
        obs, reward, terminated, _, info = self.env.step(action)
        events = {"crashes": float(info["crashed"])}
        return obs.ravel(), float(reward), terminated, False, info | {"events": events}
