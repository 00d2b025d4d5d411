"""The state of the cars, and the straight road that they drive on.

Car ``v`` is column ``v`` of two arrays: ``motion`` [N_FIELDS, V] and ``status`` [N_STATUS, V]. The
controlled car comes first. Meters, seconds, radians; x runs along the road, y to the right.
"""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status

EGO = 0
NOBODY = -1

N_FIELDS = 13
X, Y, HEADING, SPEED, *_ = range(N_FIELDS)
COS, SIN = 4, 5  # of the heading
TARGET_SPEED = 6
EXPONENT = 7  # δ of the intelligent driver model
TIMER = 8  # since the driver last considered a lane change
STEERING, ACCELERATION = 9, 10
PUSH_X, PUSH_Y = 11, 12  # displacement that a collision adds to the next step

N_STATUS = 4
ROAD_LANE, TARGET_ROAD_LANE, CRASHED, PUSHED = range(N_STATUS)

LENGTH, WIDTH = 5.0, 2.0  # of a car
ROAD_LANE_WIDTH = 4.0
ROAD_LENGTH = 10_000.0
SPEED_LIMIT = 30.0
MAX_SPEED = 40.0


@compiled
def clip(value: float, low: float, high: float) -> float:
    """Clip a value to two bounds."""
    return min(max(value, low), high)


@compiled
def wrapped(angle: float) -> float:
    """Wrap an angle to [-π, π)."""
    return ((angle + math.pi) % (2 * math.pi)) - math.pi


@compiled
def not_zero(value: float) -> float:
    """Move a value at least 0.01 away from 0."""
    if abs(value) > 0.01:
        return value
    return 0.01 if value >= 0 else -0.01


@compiled
def linear_map(value: float, x0: float, x1: float, y0: float, y1: float) -> float:
    """Map [x0, x1] linearly to [y0, y1]."""
    return y0 + (value - x0) * (y1 - y0) / (x1 - x0)


@compiled
def offset(y: float, road_lane: int) -> float:
    """Lateral offset from the center of a road lane, positive to the right."""
    return y - road_lane * ROAD_LANE_WIDTH


@compiled
def is_on_road_lane(x: float, y: float, road_lane: int, margin: float) -> bool:
    """Whether a position is on a road lane, or at most ``margin`` off it."""
    return (
        abs(offset(y, road_lane)) <= ROAD_LANE_WIDTH / 2 + margin
        and -LENGTH <= x < ROAD_LENGTH + LENGTH
    )


@compiled
def is_reachable(x: float, y: float, road_lane: int) -> bool:
    """Whether a road lane is close enough to change to."""
    return abs(offset(y, road_lane)) <= 2 * ROAD_LANE_WIDTH and 0 <= x < ROAD_LENGTH + LENGTH


@compiled
def closest_road_lane(x: float, y: float, heading: float, road_lanes: int) -> int:
    """The closest road lane by distance and angle; ties go to the first."""
    angle = abs(wrapped(heading))
    beyond, before = max(x - ROAD_LENGTH, 0.0), max(-x, 0.0)
    closest, nearest = 0, math.inf
    for road_lane in range(road_lanes):
        distance = abs(offset(y, road_lane)) + beyond + before + angle
        if distance < nearest:
            closest, nearest = road_lane, distance
    return closest


@compiled
def update_pose(motion: Motion, status: Status, car: int, road_lanes: int) -> None:
    """Update what derives from a car's position and heading: cosine, sine, road lane."""
    heading = motion[HEADING, car]
    motion[COS, car] = math.cos(heading)
    motion[SIN, car] = math.sin(heading)
    status[ROAD_LANE, car] = closest_road_lane(motion[X, car], motion[Y, car], heading, road_lanes)
