"""Collisions of two cars: the separating-axis test on their rectangles.

Two convex polygons intersect if their projections overlap on every side normal. They will intersect
within the time step if they still overlap when one projection is extended by the relative motion.
The cars are then pushed apart along the normal with the smallest overlap.
"""

from __future__ import annotations

import math

from uqbench.lanes.kernels import compiled
from uqbench_highway.arrays import Motion, Status
from uqbench_highway.simulation.cars import (
    COS,
    CRASHED,
    LENGTH,
    PUSH_X,
    PUSH_Y,
    PUSHED,
    SIN,
    SPEED,
    WIDTH,
    X,
    Y,
)

DIAGONAL = math.sqrt(LENGTH**2 + WIDTH**2)
SIDES = 4


@compiled
def corner(x: float, y: float, cos: float, sin: float, k: int) -> tuple[float, float]:
    """Corner ``k`` of a car: rear left, rear right, front right, front left."""
    along = -LENGTH / 2 if k < 2 else LENGTH / 2
    across = WIDTH / 2 if k in (1, 2) else -WIDTH / 2
    return cos * along - sin * across + x, sin * along + cos * across + y


@compiled
def side_normal(x: float, y: float, cos: float, sin: float, side: int) -> tuple[float, float]:
    """Outward normal of a car's rear, right, front or left side.

    Computed from the corners, as in the package: for two nearly parallel cars the last digits
    decide which normal they are pushed along.
    """
    x1, y1 = corner(x, y, cos, sin, side)
    x2, y2 = corner(x, y, cos, sin, (side + 1) % SIDES)
    nx, ny = y1 - y2, x2 - x1
    norm = math.sqrt(nx * nx + ny * ny)
    return nx / norm, ny / norm


@compiled
def projection(
    x: float, y: float, cos: float, sin: float, nx: float, ny: float
) -> tuple[float, float]:
    """Projection of a car onto a normal: its lower and upper end."""
    low, high = math.inf, -math.inf
    for k in range(SIDES):
        px, py = corner(x, y, cos, sin, k)
        projected = px * nx + py * ny
        low, high = min(low, projected), max(high, projected)
    return low, high


@compiled
def interval_distance(low: float, high: float, other_low: float, other_high: float) -> float:
    """Distance between two intervals; negative if they overlap.

    If one contains the other, this is the overlap at one end, not the smaller of the two.
    """
    return other_low - high if low < other_low else low - other_high


@compiled
def collide(motion: Motion, status: Status, car: int, other: int, dt: float) -> None:
    """Mark two cars that intersect as crashed; push apart those that do or will within ``dt``."""
    x, y, its_x, its_y = motion[X, car], motion[Y, car], motion[X, other], motion[Y, other]
    dx, dy = its_x - x, its_y - y
    speed, its_speed = motion[SPEED, car], motion[SPEED, other]
    reach = DIAGONAL + speed * dt
    if abs(dx) > reach or math.sqrt(dx * dx + dy * dy) > reach:
        return
    cos, sin = motion[COS, car], motion[SIN, car]
    its_cos, its_sin = motion[COS, other], motion[SIN, other]
    moved_x = speed * cos * dt - its_speed * its_cos * dt
    moved_y = speed * sin * dt - its_speed * its_sin * dt
    touch = will_touch = True
    least, push_x, push_y = math.inf, 0.0, 0.0
    for side in range(2 * SIDES):
        if side < SIDES:
            nx, ny = side_normal(x, y, cos, sin, side)
        else:
            nx, ny = side_normal(its_x, its_y, its_cos, its_sin, side - SIDES)
        low, high = projection(x, y, cos, sin, nx, ny)
        its_low, its_high = projection(its_x, its_y, its_cos, its_sin, nx, ny)
        if interval_distance(low, high, its_low, its_high) > 0:
            touch = False
        moved = nx * moved_x + ny * moved_y
        if moved < 0:
            low += moved
        else:
            high += moved
        distance = interval_distance(low, high, its_low, its_high)
        if distance > 0:
            will_touch = False
        if not touch and not will_touch:
            return
        if abs(distance) < least:
            least = abs(distance)
            away = 1.0 if dx * nx + dy * ny < 0 else -1.0
            push_x, push_y = away * nx, away * ny
    if will_touch:
        push_x, push_y = least * push_x / 2, least * push_y / 2
        motion[PUSH_X, car], motion[PUSH_Y, car] = push_x, push_y
        motion[PUSH_X, other], motion[PUSH_Y, other] = -push_x, -push_y
        status[PUSHED, car] = status[PUSHED, other] = 1
    if touch:
        status[CRASHED, car] = status[CRASHED, other] = 1
