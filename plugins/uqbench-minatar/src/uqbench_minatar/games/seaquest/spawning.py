"""What enters the sea: fish, submarines and divers."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import State, Stream
from uqbench_minatar.games.board import LAST
from uqbench_minatar.games.seaquest.state import (
    DIRECTION,
    DIVER_MOVE_INTERVAL,
    DIVERS,
    ENEMY_SHOT_INTERVAL,
    FISH,
    MOVE,
    MOVE_SPEED,
    SHOT,
    SUBMARINE,
    SUBMARINES,
    SWIMMER,
    X,
    Y,
    append,
    index_of,
)
from uqbench_minatar.random import below, uniform


@compiled
def spawn_enemy(state: State, stream: Stream) -> None:
    """A fish or a submarine, unless an enemy swims the other way in its row."""
    direction = 1 if uniform(stream) < 1 / 2 else -1
    is_submarine = uniform(stream) < 1 / 3
    y = 1 + below(stream, 8)
    if _is_against(state, SUBMARINES, SUBMARINE, y, direction):
        return
    if _is_against(state, FISH, SWIMMER, y, direction):
        return
    if is_submarine:
        item = append(state, SUBMARINES, SUBMARINE)
        state[item + SHOT] = ENEMY_SHOT_INTERVAL
    else:
        item = append(state, FISH, SWIMMER)
    _enter(state, item, y, direction)
    state[item + MOVE] = state[MOVE_SPEED]


@compiled
def spawn_diver(state: State, stream: Stream) -> None:
    """A diver, in any row."""
    direction = 1 if uniform(stream) < 1 / 2 else -1
    item = append(state, DIVERS, SWIMMER)
    _enter(state, item, 1 + below(stream, 8), direction)
    state[item + MOVE] = DIVER_MOVE_INTERVAL


@compiled
def _enter(state: State, item: int, y: int, direction: int) -> None:
    state[item + X] = 0 if direction > 0 else LAST
    state[item + Y] = y
    state[item + DIRECTION] = direction


@compiled
def _is_against(state: State, members: int, width: int, y: int, direction: int) -> bool:
    for i in range(state[members]):
        item = index_of(members, width, i)
        if state[item + Y] == y and state[item + DIRECTION] != direction:
            return True
    return False
