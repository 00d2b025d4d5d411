"""Freeway: a chicken that crosses eight rows of cars, for 2,501 steps."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.games.board import DOWN, LAST, UP, put
from uqbench_minatar.random import below, uniform
from uqbench_minatar.stepping import of_lanes

CARS = 8  # car i is in row i + 1
CHANNELS = 7
CHICKEN, CAR, SPEED1, *_ = range(CHANNELS)  # SPEED1 to SPEED5: the car's trail, by its interval

Y, MOVE_TIMER, TIMER, COLUMNS = range(4)
TIMERS = COLUMNS + CARS
INTERVALS = TIMERS + CARS
DIRECTIONS = INTERVALS + CARS
SIZE = DIRECTIONS + CARS

CHICKEN_X = 4
MOVE_INTERVAL = 3
TIME_LIMIT = 2500


@compiled
def reset(state: State, stream: Stream) -> None:
    """Begin an episode with new cars at the left edge."""
    for car in range(CARS):
        state[COLUMNS + car] = 0
    _respawn_cars(state, stream)
    state[Y] = LAST
    state[MOVE_TIMER] = MOVE_INTERVAL
    state[TIMER] = TIME_LIMIT


@compiled
def step(state: State, stream: Stream, action: int, _ramping: bool) -> tuple[int, bool]:
    """Move the chicken, then the cars; the reward is 1 for reaching the other side."""
    reward = 0
    if state[MOVE_TIMER] == 0:
        if action == UP:
            state[MOVE_TIMER] = MOVE_INTERVAL
            state[Y] = max(0, state[Y] - 1)
        elif action == DOWN:
            state[MOVE_TIMER] = MOVE_INTERVAL
            state[Y] = min(LAST, state[Y] + 1)
    if state[Y] == 0:
        reward = 1
        _respawn_cars(state, stream)
        state[Y] = LAST
    for car in range(CARS):
        _hit(state, car)
        if state[TIMERS + car] == 0:
            state[TIMERS + car] = state[INTERVALS + car]
            state[COLUMNS + car] = _wrapped(state[COLUMNS + car] + state[DIRECTIONS + car])
            _hit(state, car)
        else:
            state[TIMERS + car] -= 1
    if state[MOVE_TIMER] > 0:
        state[MOVE_TIMER] -= 1
    state[TIMER] -= 1
    return reward, state[TIMER] < 0


@compiled
def _respawn_cars(state: State, stream: Stream) -> None:
    """Draw all intervals, then all directions; the cars stay where they are."""
    for car in range(CARS):
        state[INTERVALS + car] = state[TIMERS + car] = 1 + below(stream, 5)
    for car in range(CARS):  # at exactly 1/2, one in 2**53, the package's car has no direction
        state[DIRECTIONS + car] = 1 if uniform(stream) > 1 / 2 else -1


@compiled
def _hit(state: State, car: int) -> None:
    """Send the chicken back if the car is in its cell."""
    if state[Y] == car + 1 and state[COLUMNS + car] == CHICKEN_X:
        state[Y] = LAST


@compiled
def _wrapped(x: int) -> int:
    if x < 0:
        return LAST
    return 0 if x > LAST else x


@compiled
def draw(state: State, obs: Obs) -> None:
    """Set the cells of an all-zero observation."""
    put(obs, CHICKEN, CHICKEN_X, state[Y])
    for car in range(CARS):
        x = state[COLUMNS + car]
        put(obs, CAR, x, car + 1)
        behind = _wrapped(x - state[DIRECTIONS + car])
        put(obs, SPEED1 + state[INTERVALS + car] - 1, behind, car + 1)


step_lane, begin_episode = of_lanes(reset, step, draw)
