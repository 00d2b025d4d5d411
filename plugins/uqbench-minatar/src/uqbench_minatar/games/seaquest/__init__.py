"""Seaquest: a submarine that shoots, rescues divers and surfaces for air.

``state`` is its memory, ``spawning`` what enters, ``moving`` what moves, ``drawing`` what is seen.
"""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import State, Stream
from uqbench_minatar.games.seaquest.drawing import draw
from uqbench_minatar.games.seaquest.moving import (
    act,
    move_bullets,
    move_divers,
    move_enemy_bullets,
    move_fish,
    move_submarines,
)
from uqbench_minatar.games.seaquest.spawning import (
    spawn_diver,
    spawn_enemy,
)
from uqbench_minatar.games.seaquest.state import (
    BULLETS,
    CHANNELS,
    DIVER_SPAWN_SPEED,
    DIVER_TIMER,
    DIVERS,
    DIVERS_ABOARD,
    ENEMY_BULLETS,
    FASTEST_MOVE,
    FASTEST_SPAWN,
    FISH,
    FULL_OXYGEN,
    LEVEL,
    MOST_DIVERS,
    MOVE_SPEED,
    OXYGEN,
    SHOT_TIMER,
    SIZE,
    SPAWN_SPEED,
    SPAWN_TIMER,
    SUB_DIRECTION,
    SUB_X,
    SUB_Y,
    SUBMARINES,
    SURFACED,
)
from uqbench_minatar.stepping import of_lanes

__all__ = ["CHANNELS", "SIZE", "begin_episode", "draw", "reset", "step", "step_lane"]


@compiled
def reset(state: State, _stream: Stream) -> None:
    """Begin an episode at the surface of an empty sea."""
    state[SUB_X], state[SUB_Y], state[SUB_DIRECTION] = 5, 0, -1
    state[OXYGEN] = FULL_OXYGEN
    state[DIVERS_ABOARD] = 0
    state[SURFACED] = 1
    state[SHOT_TIMER] = 0
    state[SPAWN_SPEED] = state[SPAWN_TIMER] = 20
    state[DIVER_TIMER] = DIVER_SPAWN_SPEED
    state[MOVE_SPEED] = 5
    state[LEVEL] = 0
    state[BULLETS] = state[FISH] = state[SUBMARINES] = state[ENEMY_BULLETS] = state[DIVERS] = 0


@compiled
def step(state: State, stream: Stream, action: int, ramping: bool) -> tuple[int, bool]:
    """Spawn, move everything, and breathe; the reward is for enemies shot and divers rescued."""
    if state[SPAWN_TIMER] == 0:
        spawn_enemy(state, stream)
        state[SPAWN_TIMER] = state[SPAWN_SPEED]
    if state[DIVER_TIMER] == 0:
        spawn_diver(state, stream)
        state[DIVER_TIMER] = DIVER_SPAWN_SPEED
    act(state, action)
    reward = move_bullets(state)
    move_divers(state)
    shot, hit_by_submarine = move_submarines(state)
    reward += shot
    hit_by_bullet = move_enemy_bullets(state)
    shot, hit_by_fish = move_fish(state)
    reward += shot
    terminated = hit_by_submarine or hit_by_bullet or hit_by_fish or state[OXYGEN] <= 0
    for timer in (SPAWN_TIMER, DIVER_TIMER, SHOT_TIMER):
        if state[timer] > 0:
            state[timer] -= 1
    if state[SUB_Y] > 0:
        state[OXYGEN] -= 1
        state[SURFACED] = 0
    elif not state[SURFACED]:
        if state[DIVERS_ABOARD] == 0:
            terminated = True
        else:
            reward += surface(state, ramping)
    return reward, terminated


@compiled
def surface(state: State, ramping: bool) -> int:
    """Trade a diver for air, which makes the game harder; six divers pay the air that is left.

    After six, minus one is left aboard, and fewer each time: from then on air is free.
    """
    reward = 0
    if state[DIVERS_ABOARD] == MOST_DIVERS:
        state[DIVERS_ABOARD] = 0
        reward = state[OXYGEN] * 10 // FULL_OXYGEN
    state[SURFACED] = 1
    state[OXYGEN] = FULL_OXYGEN
    state[DIVERS_ABOARD] -= 1
    if ramping and (state[SPAWN_SPEED] > FASTEST_SPAWN or state[MOVE_SPEED] > FASTEST_MOVE):
        if state[MOVE_SPEED] > FASTEST_MOVE and state[LEVEL] % 2 == 1:
            state[MOVE_SPEED] -= 1
        if state[SPAWN_SPEED] > FASTEST_SPAWN:
            state[SPAWN_SPEED] -= 1
        state[LEVEL] += 1
    return reward


step_lane, begin_episode = of_lanes(reset, step, draw)
