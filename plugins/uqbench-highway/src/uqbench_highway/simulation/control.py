"""What turns a target lane and speed into steering and acceleration; the meta-actions."""

from __future__ import annotations

import math

from uqbench.kernels import compiled
from uqbench_highway.arrays import Marks, Motion
from uqbench_highway.simulation.cars import (
    ACCELERATION,
    EGO,
    HEADING,
    LENGTH,
    SPEED,
    STEERING,
    TARGET_LANE,
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
MAX_HEADING = math.pi / 4  # across the road, to change lanes
MAX_STEERING = math.pi / 3

SLOWEST, FASTEST, SPEEDS = 20.0, 30.0, 3  # targets of the controlled car, equally spaced


@compiled
def steering(y: float, heading: float, speed: float, lane: int) -> float:
    """Steering angle to a lane: a proportional controller of the place sets one of the heading."""
    sideways = -LATERAL_GAIN * offset(y, lane)
    aim = math.asin(clip(sideways / not_zero(speed), -1.0, 1.0))
    turning = HEADING_GAIN * wrapped(clip(aim, -MAX_HEADING, MAX_HEADING) - heading)
    slip = math.asin(clip(LENGTH / 2 / not_zero(speed) * turning, -1.0, 1.0))
    return clip(math.atan(2 * math.tan(slip)), -MAX_STEERING, MAX_STEERING)


@compiled
def choose(motion: Motion, marks: Marks, action: int, lanes: int) -> None:
    """Let a meta-action change the targets of the controlled car; any other number does nothing."""
    if action in (FASTER, SLOWER):
        share = (motion[SPEED, EGO] - SLOWEST) / (FASTEST - SLOWEST)
        level = min(max(round(share * (SPEEDS - 1)), 0), SPEEDS - 1)
        level = min(max(level + (1 if action == FASTER else -1), 0), SPEEDS - 1)
        motion[TARGET_SPEED, EGO] = SLOWEST + level * ((FASTEST - SLOWEST) / (SPEEDS - 1))
    elif action in (LANE_LEFT, LANE_RIGHT):
        lane = marks[TARGET_LANE, EGO] + (1 if action == LANE_RIGHT else -1)
        lane = min(max(lane, 0), lanes - 1)
        if is_reachable(motion[X, EGO], motion[Y, EGO], lane):
            marks[TARGET_LANE, EGO] = lane


@compiled
def follow_targets(motion: Motion, marks: Marks) -> None:
    """Control the controlled car."""
    speed = motion[SPEED, EGO]
    motion[STEERING, EGO] = steering(
        motion[Y, EGO], motion[HEADING, EGO], speed, marks[TARGET_LANE, EGO]
    )
    motion[ACCELERATION, EGO] = SPEED_GAIN * (motion[TARGET_SPEED, EGO] - speed)
