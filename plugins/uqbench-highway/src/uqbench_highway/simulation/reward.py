"""The reward: high speed, on the right, without crashes."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status
from uqbench_highway.simulation.cars import (
    COS,
    CRASHED,
    EGO,
    ROAD_LANE,
    SPEED,
    TARGET_ROAD_LANE,
    X,
    Y,
    clip,
    is_on_road_lane,
    linear_map,
)


@compiled
def is_on_road(motion: Motion, status: Status) -> bool:
    """Whether the controlled car is on its closest road lane; if not, it is off the road."""
    return is_on_road_lane(motion[X, EGO], motion[Y, EGO], status[ROAD_LANE, EGO], 0.0)


@compiled
def reward(
    motion: Motion,
    status: Status,
    road_lanes: int,
    collision_reward: float,
    right_lane_reward: float,
    high_speed_reward: float,
    low_speed: float,
    high_speed: float,
    normalized: bool,
) -> float:
    """Weighted sum of crash, target road lane and speed along the road; 0 off the road."""
    if not is_on_road(motion, status):
        return 0.0
    forward = linear_map(motion[SPEED, EGO] * motion[COS, EGO], low_speed, high_speed, 0.0, 1.0)
    total: float = (
        collision_reward * status[CRASHED, EGO]
        + right_lane_reward * (status[TARGET_ROAD_LANE, EGO] / max(road_lanes - 1, 1))
        + high_speed_reward * clip(forward, 0.0, 1.0)
    )
    if normalized:
        return linear_map(total, collision_reward, high_speed_reward + right_lane_reward, 0.0, 1.0)
    return total
