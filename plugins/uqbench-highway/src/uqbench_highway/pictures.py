"""Pictures of the highway: the road around the controlled car, which is green.

Drawn are the cars that the agent observes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from uqbench.pictures import Frame
from uqbench_highway.config import HighwayConfig
from uqbench_highway.simulation.cars import LENGTH, ROAD_LANE_WIDTH
from uqbench_highway.simulation.observation import SIGHT

METER = 3.0
"""Pixels along the road."""
ACROSS = 7.0
"""Pixels of a meter across it."""
BEHIND, AHEAD = 30.0, 90.0  # m
CAR_WIDTH = 2.0  # m


def frame(config: HighwayConfig, obs: NDArray[Any]) -> Frame:
    """The road, for an observation of ``[vehicles * 5]``: presence, position, velocity."""
    lanes = config.lanes_count
    width = ROAD_LANE_WIDTH * lanes
    picture = np.full((int(width * ACROSS) + 8, int((BEHIND + AHEAD) * METER), 3), 60, np.uint8)
    for lane in range(lanes + 1):
        row = 4 + int(lane * ROAD_LANE_WIDTH * ACROSS)
        outer = lane in (0, lanes)
        picture[row - 1 : row + 1, :: 1 if outer else 2] = 230 if outer else 140
    cars = obs.reshape(-1, 5)
    own_y = float(cars[0, 2]) * width
    for number, (present, x, y, *_) in enumerate(cars):
        if not present:
            continue
        along = 0.0 if number == 0 else float(x) * SIGHT
        across = own_y if number == 0 else own_y + float(y) * width
        left = int((BEHIND + along - LENGTH / 2) * METER)
        top = 4 + int((across + ROAD_LANE_WIDTH / 2 - CAR_WIDTH / 2) * ACROSS)
        rows = slice(max(top, 0), max(top + int(CAR_WIDTH * ACROSS), 0))
        columns = slice(max(left, 0), max(left + int(LENGTH * METER), 0))
        picture[rows, columns] = (80, 200, 90) if number == 0 else (90, 150, 230)
    return picture
