"""The other drivers.

Their speed follows the intelligent driver model (IDM; Treiber, Hennecke & Helbing 2000), their
changes of lane MOBIL (Kesting, Treiber & Helbing 2007) without politeness, as the package has it:
the followers count only in that they must not be made to brake hard.
"""

from __future__ import annotations

import math

from uqbench.kernels import compiled
from uqbench_highway.arrays import Marks, Motion
from uqbench_highway.simulation.cars import (
    ACCELERATION,
    COS,
    CRASHED,
    EXPONENT,
    HEADING,
    LANE,
    LENGTH,
    NOBODY,
    SIN,
    SPEED,
    SPEED_LIMIT,
    STEERING,
    TARGET_LANE,
    TARGET_SPEED,
    TIMER,
    X,
    Y,
    clip,
    is_on_lane,
    is_reachable,
    not_zero,
)
from uqbench_highway.simulation.control import steering

MAX_ACCELERATION = 6.0  # m/s², either way
COMFORTABLE_ACCELERATION = 3.0  # a, m/s²
COMFORTABLE_BRAKING = 5.0  # b, m/s²
JAM_DISTANCE = 5.0 + LENGTH  # s₀, m
TIME_GAP = 1.5  # T, s
LANE_CHANGE_DELAY = 1.0  # s, between two thoughts of a change
MIN_GAIN = 0.2  # m/s², of a change
MAX_BRAKING_IMPOSED = 2.0  # m/s², on the new follower
SLOWEST_CHANGE = 1.0  # m/s
MARGIN = 1.0  # m beside a lane, within which a car counts as on it


@compiled
def car_ahead(motion: Motion, car: int, lane: int) -> int:
    """The nearest car on a lane that is level with this one or ahead; the last of equals."""
    ahead, nearest = NOBODY, math.inf
    x = motion[X, car]
    for other in range(motion.shape[1]):
        its_x = motion[X, other]
        if (
            x <= its_x <= nearest
            and other != car
            and is_on_lane(its_x, motion[Y, other], lane, MARGIN)
        ):
            ahead, nearest = other, its_x
    return ahead


@compiled
def car_behind(motion: Motion, car: int, lane: int) -> int:
    """The nearest car on a lane that is behind this one; the first of equals."""
    behind, nearest = NOBODY, -math.inf
    x = motion[X, car]
    for other in range(motion.shape[1]):
        its_x = motion[X, other]
        if nearest < its_x < x and is_on_lane(its_x, motion[Y, other], lane, MARGIN):
            behind, nearest = other, its_x
    return behind


@compiled
def desired_gap(motion: Motion, car: int, ahead: int) -> float:
    """IDM's s*, with the difference of velocities along the car's heading."""
    speed, cos, sin = motion[SPEED, car], motion[COS, car], motion[SIN, car]
    its_speed = motion[SPEED, ahead]
    closing = (speed * cos - its_speed * motion[COS, ahead]) * cos + (
        speed * sin - its_speed * motion[SIN, ahead]
    ) * sin
    braking = 2 * math.sqrt(COMFORTABLE_ACCELERATION * COMFORTABLE_BRAKING)
    gap: float = JAM_DISTANCE + speed * TIME_GAP + speed * closing / braking
    return gap


@compiled
def free_acceleration(motion: Motion, car: int, exponent: float) -> float:
    """IDM's a (1 − (v / v₀)^δ): on an empty road."""
    target = clip(motion[TARGET_SPEED, car], 0.0, SPEED_LIMIT)
    share = max(motion[SPEED, car], 0.0) / abs(not_zero(target))
    return COMFORTABLE_ACCELERATION * (1 - math.pow(share, exponent))


@compiled
def interaction(motion: Motion, car: int, ahead: int) -> float:
    """IDM's a (s* / s)²: the braking for a car ahead; 0 for nobody."""
    if ahead == NOBODY:
        return 0.0
    ratio = desired_gap(motion, car, ahead) / not_zero(motion[X, ahead] - motion[X, car])
    return COMFORTABLE_ACCELERATION * (ratio * ratio)


@compiled
def is_better(motion: Motion, marks: Marks, car: int, lane: int) -> bool:
    """MOBIL's safety and incentive criteria of a change to another lane."""
    exponent = motion[EXPONENT, car]  # of this driver, who imagines the others like himself
    follower = car_behind(motion, car, lane)
    if follower != NOBODY:
        imposed = free_acceleration(motion, follower, exponent) - interaction(motion, follower, car)
        if imposed < -MAX_BRAKING_IMPOSED:
            return False
    free = free_acceleration(motion, car, exponent)
    there = free - interaction(motion, car, car_ahead(motion, car, lane))
    here = free - interaction(motion, car, car_ahead(motion, car, marks[LANE, car]))
    return there - here >= MIN_GAIN


@compiled
def reconsider_lane(motion: Motion, marks: Marks, car: int, lanes: int) -> None:
    """Go on with a change, give it up for another car's, or think of one once in a while."""
    lane, target = marks[LANE, car], marks[TARGET_LANE, car]
    if lane != target:
        for other in range(motion.shape[1]):
            if other != car and marks[TARGET_LANE, other] == target != marks[LANE, other]:
                distance = motion[X, other] - motion[X, car]
                if 0 < distance < desired_gap(motion, car, other):
                    marks[TARGET_LANE, car] = lane
                    break
        return
    if motion[TIMER, car] <= LANE_CHANGE_DELAY:
        return
    motion[TIMER, car] = 0.0
    if abs(motion[SPEED, car]) < SLOWEST_CHANGE:
        return
    for side in (-1, 1):  # where both are better, the right one
        beside = lane + side
        if (
            0 <= beside < lanes
            and is_reachable(motion[X, car], motion[Y, car], beside)
            and is_better(motion, marks, car, beside)
        ):
            marks[TARGET_LANE, car] = beside


@compiled
def drive(motion: Motion, marks: Marks, car: int, lanes: int) -> None:
    """Decide on lane, steering and acceleration; one who has crashed does nothing."""
    if marks[CRASHED, car]:
        return
    reconsider_lane(motion, marks, car, lanes)
    lane, target = marks[LANE, car], marks[TARGET_LANE, car]
    motion[STEERING, car] = steering(
        motion[Y, car], motion[HEADING, car], motion[SPEED, car], target
    )
    braking = interaction(motion, car, car_ahead(motion, car, lane))
    if target != lane:
        braking = max(braking, interaction(motion, car, car_ahead(motion, car, target)))
    motion[ACCELERATION, car] = clip(
        free_acceleration(motion, car, motion[EXPONENT, car]) - braking,
        -MAX_ACCELERATION,
        MAX_ACCELERATION,
    )
