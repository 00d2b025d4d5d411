"""Low-level control, from target road lane and speed to steering and acceleration; meta-actions."""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status
from uqbench_highway.simulation.cars import (
    ACCELERATION,
    EGO,
    HEADING,
    LENGTH,
    SPEED,
    STEERING,
    TARGET_ROAD_LANE,
    TARGET_SPEED,
    X,
    Y,
    clip,
    is_reachable,
    not_zero,
    offset,
    wrapped,
)

LANE_LEFT, IDLE, LANE_RIGHT, FASTER, SLOWER = range(5)

SPEED_GAIN = 1 / 0.6  # 1/s
LATERAL_GAIN = 1 / 0.6
HEADING_GAIN = 1 / 0.2
MAX_HEADING = math.pi / 4  # relative to the road, during a lane change
MAX_STEERING = math.pi / 3

SLOWEST, FASTEST, SPEEDS = 20.0, 30.0, 3  # target speeds of the controlled car, evenly spaced


@compiled
def steering(y: float, heading: float, speed: float, road_lane: int) -> float:
    """Steering angle toward a road lane: a P controller of position that drives one of heading."""
    sideways = -LATERAL_GAIN * offset(y, road_lane)
    aim = math.asin(clip(sideways / not_zero(speed), -1.0, 1.0))
    turning = HEADING_GAIN * wrapped(clip(aim, -MAX_HEADING, MAX_HEADING) - heading)
    slip = math.asin(clip(LENGTH / 2 / not_zero(speed) * turning, -1.0, 1.0))
    return clip(math.atan(2 * math.tan(slip)), -MAX_STEERING, MAX_STEERING)


@compiled
def choose(motion: Motion, status: Status, action: int, road_lanes: int) -> None:
    """Apply a meta-action to the targets of the controlled car; any other number does nothing."""
    if action in (FASTER, SLOWER):
        share = (motion[SPEED, EGO] - SLOWEST) / (FASTEST - SLOWEST)
        level = min(max(round(share * (SPEEDS - 1)), 0), SPEEDS - 1)
        level = min(max(level + (1 if action == FASTER else -1), 0), SPEEDS - 1)
        motion[TARGET_SPEED, EGO] = SLOWEST + level * ((FASTEST - SLOWEST) / (SPEEDS - 1))
    elif action in (LANE_LEFT, LANE_RIGHT):
        road_lane = status[TARGET_ROAD_LANE, EGO] + (1 if action == LANE_RIGHT else -1)
        road_lane = min(max(road_lane, 0), road_lanes - 1)
        if is_reachable(motion[X, EGO], motion[Y, EGO], road_lane):
            status[TARGET_ROAD_LANE, EGO] = road_lane


@compiled
def follow_targets(motion: Motion, status: Status) -> None:
    """Steer and accelerate the controlled car toward its targets."""
    speed = motion[SPEED, EGO]
    motion[STEERING, EGO] = steering(
        motion[Y, EGO], motion[HEADING, EGO], speed, status[TARGET_ROAD_LANE, EGO]
    )
    motion[ACCELERATION, EGO] = SPEED_GAIN * (motion[TARGET_SPEED, EGO] - speed)
