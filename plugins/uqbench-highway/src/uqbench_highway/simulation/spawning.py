"""Initial traffic of an episode: cars are placed one by one, each ahead of all earlier ones."""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status, Stream
from uqbench_highway.random import below, uniform
from uqbench_highway.simulation.cars import (
    EGO,
    EXPONENT,
    N_FIELDS,
    N_STATUS,
    ROAD_LANE,
    ROAD_LANE_WIDTH,
    SPEED,
    SPEED_LIMIT,
    TARGET_ROAD_LANE,
    TARGET_SPEED,
    TIMER,
    X,
    Y,
    update_pose,
)
from uqbench_highway.simulation.drivers import LANE_CHANGE_DELAY

EGO_SPEED = 25.0
SLOWEST, FASTEST = 0.7 * SPEED_LIMIT, 0.8 * SPEED_LIMIT
EXPONENTS = (3.5, 4.5)  # range of IDM's δ


@compiled
def spawn(
    motion: Motion,
    status: Status,
    stream: Stream,
    road_lanes: int,
    crowding: float,
    initial_road_lane: int,
    ego_spacing: float,
    spacing: float,
) -> None:
    """Draw all cars.

    The draws, in order: the controlled car's road lane (unless given) and position; then each other
    car's road lane, speed, position and exponent.

    Args:
        motion: [N_FIELDS, V], written.
        status: [N_STATUS, V], written.
        stream: of random numbers.
        road_lanes: number of them.
        crowding: exp(−road_lanes / 8): the more road lanes, the closer the cars.
        initial_road_lane: of the controlled car; −1 draws it.
        ego_spacing: from the controlled car to the start of the traffic, in the package's spacings.
        spacing: between two cars, in the package's spacings.
    """
    cars = motion.shape[1]
    for car in range(cars):
        for field in range(N_FIELDS):
            motion[field, car] = 0.0
        for entry in range(N_STATUS):
            status[entry, car] = 0
    gap = ego_spacing * (12 + 1.0 * EGO_SPEED) * crowding
    road_lane = below(stream, road_lanes) if initial_road_lane < 0 else initial_road_lane
    foremost = 3 * gap + gap * uniform(stream, 0.9, 1.1)
    _enter(motion, status, EGO, road_lane, foremost, EGO_SPEED, road_lanes)
    for car in range(EGO + 1, cars):
        road_lane = below(stream, road_lanes)
        speed = uniform(stream, SLOWEST, FASTEST)
        foremost += spacing * (12 + 1.0 * speed) * crowding * uniform(stream, 0.9, 1.1)
        _enter(motion, status, car, road_lane, foremost, speed, road_lanes)
        motion[TIMER, car] = (foremost + road_lane * ROAD_LANE_WIDTH) * math.pi % LANE_CHANGE_DELAY
        motion[EXPONENT, car] = uniform(stream, EXPONENTS[0], EXPONENTS[1])


@compiled
def _enter(
    motion: Motion,
    status: Status,
    car: int,
    road_lane: int,
    x: float,
    speed: float,
    road_lanes: int,
) -> None:
    """Place a car at the center of a road lane, heading straight, with targets that keep it so."""
    motion[X, car] = x
    motion[Y, car] = road_lane * ROAD_LANE_WIDTH
    motion[SPEED, car] = motion[TARGET_SPEED, car] = speed
    update_pose(motion, status, car, road_lanes)
    status[TARGET_ROAD_LANE, car] = status[ROAD_LANE, car]
