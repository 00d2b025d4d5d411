"""The reward for high speed on the right, without crashes."""

from __future__ import annotations

from uqbench.kernels import compiled
from uqbench_highway.arrays import Marks, Motion
from uqbench_highway.simulation.cars import (
    COS,
    CRASHED,
    EGO,
    LANE,
    SPEED,
    TARGET_LANE,
    X,
    Y,
    clip,
    is_on_lane,
    linear_map,
)


@compiled
def is_on_road(motion: Motion, marks: Marks) -> bool:
    """Whether the controlled car is on its lane; beside it is beside the road."""
    return is_on_lane(motion[X, EGO], motion[Y, EGO], marks[LANE, EGO], 0.0)


@compiled
def reward(
    motion: Motion,
    marks: Marks,
    lanes: int,
    for_collision: float,
    for_right_lane: float,
    for_high_speed: float,
    low_speed: float,
    high_speed: float,
    normalized: bool,
) -> float:
    """Weights times: a crash, the lane that is aimed at, the speed along the road.

    It is 0 beside the road.
    """
    if not is_on_road(motion, marks):
        return 0.0
    forward = linear_map(motion[SPEED, EGO] * motion[COS, EGO], low_speed, high_speed, 0.0, 1.0)
    total: float = (
        for_collision * marks[CRASHED, EGO]
        + for_right_lane * (marks[TARGET_LANE, EGO] / max(lanes - 1, 1))
        + for_high_speed * clip(forward, 0.0, 1.0)
    )
    if normalized:
        return linear_map(total, for_collision, for_high_speed + for_right_lane, 0.0, 1.0)
    return total
