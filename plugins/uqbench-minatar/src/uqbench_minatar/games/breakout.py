"""Breakout: a paddle, a ball that moves on diagonals, three rows of bricks."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.games.board import CELLS, LAST, WIDTH, left_or_right, put
from uqbench_minatar.random import below
from uqbench_minatar.stepping import of_lanes

CHANNELS = 4
PADDLE, BALL, TRAIL, BRICK = range(CHANNELS)

SIZE = 9
POSITION, X, Y, DX, DY, LAST_X, LAST_Y, STRIKE, BRICKS = range(SIZE)

TOP, BRICK_ROWS = 1, 3  # bricks are bits, from row TOP down
WALL = (1 << WIDTH * BRICK_ROWS) - 1


@compiled
def reset(state: State, stream: Stream) -> None:
    """Begin an episode, with the ball in a corner below the bricks."""
    from_right = below(stream, 2)
    state[POSITION] = 4
    state[X] = state[LAST_X] = LAST if from_right else 0
    state[Y] = state[LAST_Y] = 3
    state[DX] = -1 if from_right else 1
    state[DY] = 1
    state[STRIKE] = 0
    state[BRICKS] = WALL


@compiled
def step(state: State, _stream: Stream, action: int, _ramping: bool) -> tuple[int, bool]:
    """Move the paddle, then the ball; the reward is 1 for a brick."""
    reward, terminated = 0, False
    state[POSITION] = left_or_right(state[POSITION], action)
    state[LAST_X], state[LAST_Y] = state[X], state[Y]
    x, y = state[X] + state[DX], state[Y] + state[DY]
    strike = 0
    if x < 0 or x > LAST:
        x = min(LAST, max(0, x))
        state[DX] = -state[DX]
    brick = 0
    if TOP <= y < TOP + BRICK_ROWS:
        brick = 1 << (WIDTH * (y - TOP) + x)
    if y < 0:
        y = 0
        state[DY] = -state[DY]
    elif state[BRICKS] & brick:
        strike = 1
        if not state[STRIKE]:  # else the ball passes through the brick
            reward = 1
            state[BRICKS] &= ~brick
            y = state[LAST_Y]
            state[DY] = -state[DY]
    elif y == LAST:
        if state[BRICKS] == 0:
            state[BRICKS] = WALL
        if state[X] == state[POSITION]:
            state[DY] = -state[DY]
            y = state[LAST_Y]
        elif x == state[POSITION]:
            state[DX], state[DY] = -state[DX], -state[DY]
            y = state[LAST_Y]
        else:
            terminated = True
    state[STRIKE] = strike
    state[X], state[Y] = x, y
    return reward, terminated


@compiled
def draw(state: State, obs: Obs) -> None:
    """Set the cells of an all-zero observation."""
    put(obs, PADDLE, state[POSITION], LAST)
    put(obs, BALL, state[X], state[Y])
    put(obs, TRAIL, state[LAST_X], state[LAST_Y])
    bricks = state[BRICKS]
    for k in range(WIDTH * BRICK_ROWS):
        obs[CELLS * BRICK + WIDTH * TOP + k] = (bricks >> k) & 1


step_lane, begin_episode = of_lanes(reset, step, draw)
