"""The traffic at the start of an episode: one car after another, each ahead of all before it."""

from __future__ import annotations

import math

from uqbench.kernels import compiled
from uqbench_highway.arrays import Marks, Motion, Stream
from uqbench_highway.random import below, uniform
from uqbench_highway.simulation.cars import (
    EGO,
    EXPONENT,
    LANE,
    LANE_WIDTH,
    N_FIELDS,
    N_MARKS,
    SPEED,
    SPEED_LIMIT,
    TARGET_LANE,
    TARGET_SPEED,
    TIMER,
    X,
    Y,
    put,
)
from uqbench_highway.simulation.drivers import LANE_CHANGE_DELAY

EGO_SPEED = 25.0
SLOWEST, FASTEST = 0.7 * SPEED_LIMIT, 0.8 * SPEED_LIMIT
EXPONENTS = (3.5, 4.5)  # of the drivers' models


@compiled
def spawn(
    motion: Motion,
    marks: Marks,
    stream: Stream,
    lanes: int,
    crowding: float,
    initial_lane: int,
    ego_spacing: float,
    spacing: float,
) -> None:
    """Draw all cars.

    The draws, in order: of the controlled car its lane (unless given) and its place; of every other
    car its lane, speed, place and exponent.

    Args:
        motion: [N_FIELDS, V], written.
        marks: [N_MARKS, V], written.
        stream: of random numbers.
        lanes: of the road.
        crowding: exp(−lanes / 8), by which the cars are nearer where there are more lanes.
        initial_lane: of the controlled car; −1 draws it.
        ego_spacing: distance of the controlled car to the start of the traffic, in spacings.
        spacing: distance of two cars, in spacings.
    """
    cars = motion.shape[1]
    for car in range(cars):
        for field in range(N_FIELDS):
            motion[field, car] = 0.0
        for mark in range(N_MARKS):
            marks[mark, car] = 0
    gap = ego_spacing * (12 + 1.0 * EGO_SPEED) * crowding
    lane = below(stream, lanes) if initial_lane < 0 else initial_lane
    foremost = 3 * gap + gap * uniform(stream, 0.9, 1.1)
    _enter(motion, marks, EGO, lane, foremost, EGO_SPEED, lanes)
    for car in range(EGO + 1, cars):
        lane = below(stream, lanes)
        speed = uniform(stream, SLOWEST, FASTEST)
        foremost += spacing * (12 + 1.0 * speed) * crowding * uniform(stream, 0.9, 1.1)
        _enter(motion, marks, car, lane, foremost, speed, lanes)
        motion[TIMER, car] = (foremost + lane * LANE_WIDTH) * math.pi % LANE_CHANGE_DELAY
        motion[EXPONENT, car] = uniform(stream, EXPONENTS[0], EXPONENTS[1])


@compiled
def _enter(
    motion: Motion, marks: Marks, car: int, lane: int, x: float, speed: float, lanes: int
) -> None:
    """Put a car in the middle of a lane, straight ahead, to go on as it is."""
    motion[X, car] = x
    motion[Y, car] = lane * LANE_WIDTH
    motion[SPEED, car] = motion[TARGET_SPEED, car] = speed
    put(motion, marks, car, lanes)
    marks[TARGET_LANE, car] = marks[LANE, car]
