"""Motion of a car: a kinematic bicycle model of its center, integrated by Euler's method."""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status
from uqbench_highway.simulation.cars import (
    ACCELERATION,
    COS,
    CRASHED,
    HEADING,
    LENGTH,
    MAX_SPEED,
    PUSH_X,
    PUSH_Y,
    PUSHED,
    SIN,
    SPEED,
    STEERING,
    TIMER,
    X,
    Y,
    update_pose,
)


@compiled
def move(motion: Motion, status: Status, car: int, dt: float, road_lanes: int) -> None:
    """Move a car for ``dt``; a crashed car brakes without steering."""
    speed, heading = motion[SPEED, car], motion[HEADING, car]
    angle, acceleration = motion[STEERING, car], motion[ACCELERATION, car]
    if status[CRASHED, car]:
        angle, acceleration = 0.0, -speed
    if speed > MAX_SPEED:
        acceleration = min(acceleration, MAX_SPEED - speed)
    elif speed < -MAX_SPEED:
        acceleration = max(acceleration, -MAX_SPEED - speed)
    cos, sin, turning = motion[COS, car], motion[SIN, car], 0.0
    if angle != 0:  # otherwise the slip angle is 0
        slip = math.atan(0.5 * math.tan(angle))
        cos, sin = math.cos(heading + slip), math.sin(heading + slip)
        turning = speed * math.sin(slip) / (LENGTH / 2)
    motion[X, car] += speed * cos * dt
    motion[Y, car] += speed * sin * dt
    if status[PUSHED, car]:
        motion[X, car] += motion[PUSH_X, car]
        motion[Y, car] += motion[PUSH_Y, car]
        status[PUSHED, car] = 0
        status[CRASHED, car] = 1
    motion[HEADING, car] = heading + turning * dt
    motion[SPEED, car] = speed + acceleration * dt
    motion[TIMER, car] += dt
    update_pose(motion, status, car, road_lanes)
