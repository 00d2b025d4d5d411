"""The other drivers.

Speed follows the intelligent driver model (IDM; Treiber, Hennecke & Helbing 2000), lane changes
follow MOBIL (Kesting, Treiber & Helbing 2007) with zero politeness, as in the package: followers
matter only in that they must not be forced to brake hard.
"""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status
from uqbench_highway.simulation.cars import (
    ACCELERATION,
    COS,
    CRASHED,
    EXPONENT,
    HEADING,
    LENGTH,
    NOBODY,
    ROAD_LANE,
    SIN,
    SPEED,
    SPEED_LIMIT,
    STEERING,
    TARGET_ROAD_LANE,
    TARGET_SPEED,
    TIMER,
    X,
    Y,
    clip,
    is_on_road_lane,
    is_reachable,
    not_zero,
)
from uqbench_highway.simulation.control import steering

MAX_ACCELERATION = 6.0  # m/s², either way
COMFORTABLE_ACCELERATION = 3.0  # a, m/s²
COMFORTABLE_BRAKING = 5.0  # b, m/s²
JAM_DISTANCE = 5.0 + LENGTH  # s₀, m
TIME_GAP = 1.5  # T, s
LANE_CHANGE_DELAY = 1.0  # s, between two decisions about a change
MIN_GAIN = 0.2  # m/s², gained by a change
MAX_BRAKING_IMPOSED = 2.0  # m/s², on the new follower
SLOWEST_CHANGE = 1.0  # m/s
MARGIN = 1.0  # m off a road lane within which a car counts as on it


@compiled
def car_ahead(motion: Motion, car: int, road_lane: int) -> int:
    """The nearest car on a road lane, level with this one or ahead; ties go to the last."""
    ahead, nearest = NOBODY, math.inf
    x = motion[X, car]
    for other in range(motion.shape[1]):
        its_x = motion[X, other]
        if (
            x <= its_x <= nearest
            and other != car
            and is_on_road_lane(its_x, motion[Y, other], road_lane, MARGIN)
        ):
            ahead, nearest = other, its_x
    return ahead


@compiled
def car_behind(motion: Motion, car: int, road_lane: int) -> int:
    """The nearest car on a road lane behind this one; ties go to the first."""
    behind, nearest = NOBODY, -math.inf
    x = motion[X, car]
    for other in range(motion.shape[1]):
        its_x = motion[X, other]
        if nearest < its_x < x and is_on_road_lane(its_x, motion[Y, other], road_lane, MARGIN):
            behind, nearest = other, its_x
    return behind


@compiled
def desired_gap(motion: Motion, car: int, ahead: int) -> float:
    """IDM's s*, with the approach rate along the car's heading."""
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
    """IDM's free-road term, a (1 − (v / v₀)^δ)."""
    target = clip(motion[TARGET_SPEED, car], 0.0, SPEED_LIMIT)
    share = max(motion[SPEED, car], 0.0) / abs(not_zero(target))
    return COMFORTABLE_ACCELERATION * (1 - math.pow(share, exponent))


@compiled
def interaction(motion: Motion, car: int, ahead: int) -> float:
    """IDM's interaction term, a (s* / s)²; 0 if nobody is ahead."""
    if ahead == NOBODY:
        return 0.0
    ratio = desired_gap(motion, car, ahead) / not_zero(motion[X, ahead] - motion[X, car])
    return COMFORTABLE_ACCELERATION * (ratio * ratio)


@compiled
def is_better(motion: Motion, status: Status, car: int, road_lane: int) -> bool:
    """MOBIL's safety and incentive criteria for a change to another road lane."""
    exponent = motion[EXPONENT, car]  # this driver's own, applied to the follower too
    follower = car_behind(motion, car, road_lane)
    if follower != NOBODY:
        imposed = free_acceleration(motion, follower, exponent) - interaction(motion, follower, car)
        if imposed < -MAX_BRAKING_IMPOSED:
            return False
    free = free_acceleration(motion, car, exponent)
    there = free - interaction(motion, car, car_ahead(motion, car, road_lane))
    here = free - interaction(motion, car, car_ahead(motion, car, status[ROAD_LANE, car]))
    return there - here >= MIN_GAIN


@compiled
def reconsider_road_lane(motion: Motion, status: Status, car: int, road_lanes: int) -> None:
    """Continue a lane change, abort it for another car's, or periodically consider one."""
    road_lane, target = status[ROAD_LANE, car], status[TARGET_ROAD_LANE, car]
    if road_lane != target:
        for other in range(motion.shape[1]):
            if (
                other != car
                and status[TARGET_ROAD_LANE, other] == target != status[ROAD_LANE, other]
            ):
                distance = motion[X, other] - motion[X, car]
                if 0 < distance < desired_gap(motion, car, other):
                    status[TARGET_ROAD_LANE, car] = road_lane
                    break
        return
    if motion[TIMER, car] <= LANE_CHANGE_DELAY:
        return
    motion[TIMER, car] = 0.0
    if abs(motion[SPEED, car]) < SLOWEST_CHANGE:
        return
    for side in (-1, 1):  # if both are better, the right one wins
        neighbor = road_lane + side
        if (
            0 <= neighbor < road_lanes
            and is_reachable(motion[X, car], motion[Y, car], neighbor)
            and is_better(motion, status, car, neighbor)
        ):
            status[TARGET_ROAD_LANE, car] = neighbor


@compiled
def drive(motion: Motion, status: Status, car: int, road_lanes: int) -> None:
    """Decide on road lane, steering and acceleration; a crashed car does nothing."""
    if status[CRASHED, car]:
        return
    reconsider_road_lane(motion, status, car, road_lanes)
    road_lane, target = status[ROAD_LANE, car], status[TARGET_ROAD_LANE, car]
    motion[STEERING, car] = steering(
        motion[Y, car], motion[HEADING, car], motion[SPEED, car], target
    )
    braking = interaction(motion, car, car_ahead(motion, car, road_lane))
    if target != road_lane:
        braking = max(braking, interaction(motion, car, car_ahead(motion, car, target)))
    motion[ACCELERATION, car] = clip(
        free_acceleration(motion, car, motion[EXPONENT, car]) - braking,
        -MAX_ACCELERATION,
        MAX_ACCELERATION,
    )
