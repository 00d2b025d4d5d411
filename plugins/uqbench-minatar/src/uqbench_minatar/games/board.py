"""What the games share: the 10 × 10 board, its observations and the actions."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled, inlined
from uqbench_minatar.arrays import Obs

WIDTH = 10
CELLS = WIDTH * WIDTH
LAST = WIDTH - 1  # column or row

LEFT, UP, RIGHT, DOWN, FIRE = range(1, 6)  # the actions; 0 does nothing


@inlined
def put(obs: Obs, channel: int, x: int, y: int) -> None:
    """Set a cell of an observation."""
    obs[CELLS * channel + WIDTH * y + x] = 1


@inlined
def put_on_board(obs: Obs, channel: int, x: int, y: int) -> None:
    """Set a cell of an observation unless ``x`` is off the board."""
    if 0 <= x <= LAST:
        put(obs, channel, x, y)


@compiled
def left_or_right(x: int, action: int) -> int:
    """The column that an action takes a player in column ``x`` to."""
    if action == LEFT:
        return max(0, x - 1)
    if action == RIGHT:
        return min(LAST, x + 1)
    return x
