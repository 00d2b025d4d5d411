"""The state of the cars, and the straight road that they drive on.

Car ``v`` is column ``v`` of two arrays: ``motion`` [N_FIELDS, V] and ``marks`` [N_MARKS, V]. The
controlled car is the first one. Metres, seconds, radians; x along the road, y to the right.
"""

from __future__ import annotations

import math

from uqbench.kernels import compiled
from uqbench_highway.arrays import Marks, Motion

EGO = 0
NOBODY = -1

N_FIELDS = 13
X, Y, HEADING, SPEED, *_ = range(N_FIELDS)
COS, SIN = 4, 5  # of the heading
TARGET_SPEED = 6
EXPONENT = 7  # δ of the driver's model
TIMER = 8  # since the driver last thought of changing lanes
STEERING, ACCELERATION = 9, 10
PUSH_X, PUSH_Y = 11, 12  # by which a collision moves the car in the next step

N_MARKS = 4
LANE, TARGET_LANE, CRASHED, PUSHED = range(N_MARKS)

LENGTH, WIDTH = 5.0, 2.0  # of a car
LANE_WIDTH = 4.0
ROAD_LENGTH = 10_000.0
SPEED_LIMIT = 30.0
MAX_SPEED = 40.0


@compiled
def clip(value: float, low: float, high: float) -> float:
    """The nearest number between two bounds."""
    return min(max(value, low), high)


@compiled
def wrapped(angle: float) -> float:
    """An angle in [-π, π)."""
    return ((angle + math.pi) % (2 * math.pi)) - math.pi


@compiled
def not_zero(value: float) -> float:
    """A number at least 0.01 away from 0."""
    if abs(value) > 0.01:
        return value
    return 0.01 if value >= 0 else -0.01


@compiled
def linear_map(value: float, x0: float, x1: float, y0: float, y1: float) -> float:
    """From [x0, x1] to [y0, y1]."""
    return y0 + (value - x0) * (y1 - y0) / (x1 - x0)


@compiled
def offset(y: float, lane: int) -> float:
    """From the middle of a lane, to the right."""
    return y - lane * LANE_WIDTH


@compiled
def is_on_lane(x: float, y: float, lane: int, margin: float) -> bool:
    """Whether a place is on a lane, at most ``margin`` beside it."""
    return abs(offset(y, lane)) <= LANE_WIDTH / 2 + margin and -LENGTH <= x < ROAD_LENGTH + LENGTH


@compiled
def is_reachable(x: float, y: float, lane: int) -> bool:
    """Whether a lane is near enough to change to."""
    return abs(offset(y, lane)) <= 2 * LANE_WIDTH and 0 <= x < ROAD_LENGTH + LENGTH


@compiled
def closest_lane(x: float, y: float, heading: float, lanes: int) -> int:
    """By distance and angle; the first of equals."""
    angle = abs(wrapped(heading))
    beyond, before = max(x - ROAD_LENGTH, 0.0), max(-x, 0.0)
    closest, nearest = 0, math.inf
    for lane in range(lanes):
        distance = abs(offset(y, lane)) + beyond + before + angle
        if distance < nearest:
            closest, nearest = lane, distance
    return closest


@compiled
def put(motion: Motion, marks: Marks, car: int, lanes: int) -> None:
    """Update what follows from a car's place and heading."""
    heading = motion[HEADING, car]
    motion[COS, car] = math.cos(heading)
    motion[SIN, car] = math.sin(heading)
    marks[LANE, car] = closest_lane(motion[X, car], motion[Y, car], heading, lanes)
