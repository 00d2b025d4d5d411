"""Seaquest's state: an array of integers, and the lists within it.

Bullets, fish, submarines and divers are lists: a count, then room for as many members as there can
be. They are traversed as in the package, from the back, and what is removed is the first member
that is *equal*, which may be another one.
"""

from __future__ import annotations

from uqbench.lanes.kernels import compiled, inlined
from uqbench_minatar.arrays import State
from uqbench_minatar.games.board import LAST

CHANNELS = 10
(
    FRONT,
    BACK,
    FRIENDLY_BULLET,
    TRAIL,
    ENEMY_BULLET,
    ENEMY_FISH,
    ENEMY_SUBMARINE,
    OXYGEN_GAUGE,
    DIVER_GAUGE,
    DIVER,
) = range(CHANNELS)

(
    SUB_X,
    SUB_Y,
    SUB_DIRECTION,
    OXYGEN,
    DIVERS_ABOARD,
    SURFACED,
    SHOT_TIMER,
    SPAWN_SPEED,
    SPAWN_TIMER,
    DIVER_TIMER,
    MOVE_SPEED,
    LEVEL,
    BULLETS,
) = range(13)

# a member of a list: column, row, direction and, where it has them, its timers
X, Y, DIRECTION, MOVE, SHOT = range(5)
BULLET, SWIMMER, SUBMARINE = 3, 4, 5  # numbers per member

# At most one enemy enters per step and crosses the board in ten moves of at most 6 steps: at most
# 60 of them. Each has one bullet on the board, which is gone in ten steps; the next comes in 11.
ENEMIES = 60
FISH = BULLETS + 1 + BULLET * 4
SUBMARINES = FISH + 1 + SWIMMER * ENEMIES
ENEMY_BULLETS = SUBMARINES + 1 + SUBMARINE * ENEMIES
DIVERS = ENEMY_BULLETS + 1 + BULLET * (ENEMIES + 20)
SIZE = DIVERS + 1 + SWIMMER * 4

FULL_OXYGEN = 200
MOST_DIVERS = 6
SHOT_COOL_DOWN = 5
DIVER_SPAWN_SPEED = 30
DIVER_MOVE_INTERVAL = 5
ENEMY_SHOT_INTERVAL = 10
FASTEST_MOVE, FASTEST_SPAWN = 2, 1


@inlined
def index_of(members: int, width: int, i: int) -> int:
    """Index of member ``i`` of a list in the state."""
    return members + 1 + width * i


@inlined
def append(state: State, members: int, width: int) -> int:
    """Make room for another member; returns its index in the state."""
    state[members] += 1
    return index_of(members, width, state[members] - 1)


@compiled
def remove_equal(state: State, members: int, width: int, i: int) -> int:
    """Remove the first member that equals member ``i``; returns its place in the list."""
    this = index_of(members, width, i)
    first = 0
    while first < i:
        other = index_of(members, width, first)
        same = True
        for k in range(width):
            same = same and state[other + k] == state[this + k]
        if same:
            break
        first += 1
    state[members] -= 1
    end = index_of(members, width, state[members])
    for k in range(index_of(members, width, first), end):
        state[k] = state[k + width]
    return first


@compiled
def find(state: State, members: int, width: int, x: int, y: int) -> int:
    """The first member of a list in a cell; −1 if there is none."""
    for i in range(state[members]):
        item = index_of(members, width, i)
        if state[item + X] == x and state[item + Y] == y:
            return i
    return -1


@inlined
def off_board(x: int) -> bool:
    """Whether a column is off the board."""
    return x < 0 or x > LAST


@inlined
def meets(state: State, item: int) -> bool:
    """Whether a member of a list is in the cell of the player's front."""
    return bool(state[item + X] == state[SUB_X] and state[item + Y] == state[SUB_Y])
