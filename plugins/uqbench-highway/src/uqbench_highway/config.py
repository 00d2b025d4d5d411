"""Config of the environment; a module of its own, so that reading a suite imports no simulation."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

N_ACTIONS = 5  # lane left, idle, lane right, faster, slower
FEATURES = 5  # of an observed vehicle: presence, x, y, vx, vy
IDM = "highway_env.vehicle.behavior.IDMVehicle"


@dataclass(frozen=True)
class HighwayConfig:
    """The part of highway-env's config that a step depends on; the rest is rendering.

    The names are the package's. So are the defaults (1.12.1), except for the paper's five lanes and
    ten other vehicles.

    Attributes:
        lanes_count: lanes of the road.
        vehicles_count: other vehicles.
        vehicles_density: of the initial traffic, relative to the package's spacing.
        initial_lane_id: initial lane of the controlled vehicle; None draws it.
        ego_spacing: initial free space around it, in spacings.
        other_vehicles_type: how the others drive; ``backend="lanes"`` supports only the default.
        observed_vehicles: vehicles in an observation, including the controlled one; each has
            presence, x, y, vx and vy.
        simulation_frequency: of the physics, Hz.
        policy_frequency: of actions, Hz.
        collision_reward: of a crash, before rewards are scaled to [0, 1].
        right_lane_reward: in the rightmost lane; linear in the lane.
        high_speed_reward: at the upper end of ``reward_speed_range``; linear in the speed.
        lane_change_reward: the package has it, but highway-v0 never pays it.
        reward_speed_range: m/s.
        normalize_reward: whether rewards are scaled to [0, 1].
        offroad_terminal: whether leaving the road ends the episode.
        backend: ``lanes``, compiled functions that step all lanes in one call, or ``oracle``, the
            package.
    """

    lanes_count: int = 5
    vehicles_count: int = 10
    vehicles_density: float = 1.0
    initial_lane_id: int | None = None
    ego_spacing: float = 2.0
    other_vehicles_type: str = IDM
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
    backend: Literal["lanes", "oracle"] = "lanes"

    def __post_init__(self) -> None:
        if self.lanes_count < 1:
            raise ValueError(f"lanes_count must be at least 1; got {self.lanes_count}")
        if self.vehicles_count < 0:
            raise ValueError(f"vehicles_count must not be negative; got {self.vehicles_count}")
        if not self.vehicles_density > 0:
            raise ValueError(f"vehicles_density must be positive; got {self.vehicles_density}")
        if self.initial_lane_id is not None and not 0 <= self.initial_lane_id < self.lanes_count:
            raise ValueError(
                f"initial_lane_id must be one of 0 to {self.lanes_count - 1}; "
                f"got {self.initial_lane_id}"
            )
        if self.observed_vehicles < 2:
            raise ValueError(
                f"observed_vehicles must count the controlled one and at least one other; "
                f"got {self.observed_vehicles}"
            )
        if not 0 < self.policy_frequency <= self.simulation_frequency:
            raise ValueError(
                f"policy_frequency must be positive and at most simulation_frequency, "
                f"{self.simulation_frequency}; got {self.policy_frequency}"
            )
        if not self.reward_speed_range[0] < self.reward_speed_range[1]:
            raise ValueError(
                f"reward_speed_range must be a lower and a higher speed; "
                f"got {self.reward_speed_range}"
            )
        if self.backend == "lanes" and self.other_vehicles_type != IDM:
            raise ValueError(
                f"other_vehicles_type of backend 'lanes' must be {IDM!r}; got "
                f"{self.other_vehicles_type!r}; backend 'oracle' supports it"
            )

    def package_config(self) -> dict[str, Any]:
        """What ``gymnasium.make("highway-v0", config=…)`` takes."""
        config = dataclasses.asdict(self)
        del config["backend"]
        observed = config.pop("observed_vehicles")
        return config | {
            "observation": {"type": "Kinematics", "vehicles_count": observed},
            "action": {"type": "DiscreteMetaAction"},
            "reward_speed_range": list(self.reward_speed_range),
        }
