"""Observations: presence, position and velocity of the controlled car and the nearest others."""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Obs
from uqbench_highway.config import FEATURES
from uqbench_highway.simulation.cars import (
    COS,
    EGO,
    LENGTH,
    MAX_SPEED,
    NOBODY,
    ROAD_LANE_WIDTH,
    SIN,
    SPEED,
    X,
    Y,
    clip,
    linear_map,
)

SIGHT = 5.0 * MAX_SPEED  # m
BEHIND = 2 * LENGTH  # m, range to the rear
FASTEST = 2 * MAX_SPEED


@compiled
def scaled(value: float, limit: float) -> float:
    """Map [-limit, limit] to [-1, 1], clipped."""
    return clip(linear_map(value, -limit, limit, -1.0, 1.0), -1.0, 1.0)


@compiled
def next_seen(motion: Motion, last: int) -> int:
    """The next nearest car in sight along the road after ``last``; ties go to the first."""
    x, y = motion[X, EGO], motion[Y, EGO]
    reached = -1.0 if last == NOBODY else abs(motion[X, last] - x)
    found, nearest = NOBODY, math.inf
    for car in range(EGO + 1, motion.shape[1]):
        dx, dy = motion[X, car] - x, motion[Y, car] - y
        distance = abs(dx)
        later = distance > reached or (distance == reached and car > last)
        if later and distance < nearest and dx > -BEHIND and math.sqrt(dx * dx + dy * dy) < SIGHT:
            found, nearest = car, distance
    return found


@compiled
def observe(motion: Motion, road_lanes: int, obs: Obs) -> None:
    """Write an observation ``[observed · 5]``: the controlled car absolute, the others relative.

    Rows without a car are 0.
    """
    obs[:] = 0
    width = ROAD_LANE_WIDTH * road_lanes
    x, y = motion[X, EGO], motion[Y, EGO]
    vx, vy = motion[SPEED, EGO] * motion[COS, EGO], motion[SPEED, EGO] * motion[SIN, EGO]
    _write(obs, 0, x, y, vx, vy, width)
    car = NOBODY
    for place in range(1, len(obs) // FEATURES):
        car = next_seen(motion, car)
        if car == NOBODY:
            break
        its_vx = motion[SPEED, car] * motion[COS, car]
        its_vy = motion[SPEED, car] * motion[SIN, car]
        _write(obs, place, motion[X, car] - x, motion[Y, car] - y, its_vx - vx, its_vy - vy, width)


@compiled
def _write(obs: Obs, place: int, x: float, y: float, vx: float, vy: float, width: float) -> None:
    first = place * FEATURES
    obs[first] = 1.0
    obs[first + 1] = scaled(x, SIGHT)
    obs[first + 2] = scaled(y, width)
    obs[first + 3] = scaled(vx, FASTEST)
    obs[first + 4] = scaled(vy, FASTEST)
