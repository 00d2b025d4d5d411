"""Seaquest's observation."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import Obs, State
from uqbench_minatar.games.board import LAST, put, put_on_board
from uqbench_minatar.games.seaquest.state import (
    BACK,
    BULLET,
    BULLETS,
    DIRECTION,
    DIVER,
    DIVER_GAUGE,
    DIVERS,
    DIVERS_ABOARD,
    ENEMY_BULLET,
    ENEMY_BULLETS,
    ENEMY_FISH,
    ENEMY_SUBMARINE,
    FISH,
    FRIENDLY_BULLET,
    FRONT,
    FULL_OXYGEN,
    OXYGEN,
    OXYGEN_GAUGE,
    SUB_DIRECTION,
    SUB_X,
    SUB_Y,
    SUBMARINE,
    SUBMARINES,
    SWIMMER,
    TRAIL,
    X,
    Y,
    index_of,
)


@compiled
def draw(state: State, obs: Obs) -> None:
    """Set the cells of an all-zero observation."""
    x, y = state[SUB_X], state[SUB_Y]
    put(obs, FRONT, x, y)
    put(obs, BACK, x - state[SUB_DIRECTION], y)
    for cell in range(max(0, state[OXYGEN]) * 10 // FULL_OXYGEN):
        put(obs, OXYGEN_GAUGE, cell, LAST)
    for cell in range(LAST - state[DIVERS_ABOARD], LAST):
        put(obs, DIVER_GAUGE, cell, LAST)
    _draw_list(state, BULLETS, BULLET, obs, FRIENDLY_BULLET)
    _draw_list(state, ENEMY_BULLETS, BULLET, obs, ENEMY_BULLET)
    for members, width, channel in (
        (FISH, SWIMMER, ENEMY_FISH),
        (SUBMARINES, SUBMARINE, ENEMY_SUBMARINE),
        (DIVERS, SWIMMER, DIVER),
    ):
        _draw_list(state, members, width, obs, channel)
        _draw_trails(state, members, width, obs)


@compiled
def _draw_list(state: State, members: int, width: int, obs: Obs, channel: int) -> None:
    for i in range(state[members]):
        item = index_of(members, width, i)
        put(obs, channel, state[item + X], state[item + Y])


@compiled
def _draw_trails(state: State, members: int, width: int, obs: Obs) -> None:
    for i in range(state[members]):
        item = index_of(members, width, i)
        put_on_board(obs, TRAIL, state[item + X] - state[item + DIRECTION], state[item + Y])
