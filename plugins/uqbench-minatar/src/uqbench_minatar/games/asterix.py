"""Asterix: gold to collect and enemies to avoid, crossing the board in eight rows."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.games.board import DOWN, LAST, UP, left_or_right, put, put_on_board
from uqbench_minatar.random import below, uniform
from uqbench_minatar.stepping import of_lanes

CHANNELS = 4
PLAYER, ENEMY, TRAIL, GOLD = range(CHANNELS)

SLOTS = 8  # slot i holds what is in row i + 1: kind, column and direction
X, Y, SPAWN_SPEED, SPAWN_TIMER, MOVE_SPEED, MOVE_TIMER, RAMP_TIMER, LEVEL, KINDS = range(9)
COLUMNS = KINDS + SLOTS
DIRECTIONS = COLUMNS + SLOTS
SIZE = DIRECTIONS + SLOTS

EMPTY = 0  # a kind is EMPTY or the channel that shows it
RAMP_INTERVAL = 100


@compiled
def reset(state: State, _stream: Stream) -> None:
    """Begin an episode on an empty board."""
    state[X], state[Y] = 5, 5
    state[SPAWN_SPEED] = state[SPAWN_TIMER] = 10
    state[MOVE_SPEED] = state[MOVE_TIMER] = 5
    state[RAMP_TIMER] = RAMP_INTERVAL
    state[LEVEL] = 0
    for slot in range(SLOTS):
        state[KINDS + slot] = EMPTY


@compiled
def step(state: State, stream: Stream, action: int, ramping: bool) -> tuple[int, bool]:
    """Spawn, move the player, then the rest; the reward is the gold collected."""
    if state[SPAWN_TIMER] == 0:
        _spawn(state, stream)
        state[SPAWN_TIMER] = state[SPAWN_SPEED]
    state[X] = left_or_right(state[X], action)
    if action == UP:
        state[Y] = max(1, state[Y] - 1)
    elif action == DOWN:
        state[Y] = min(SLOTS, state[Y] + 1)
    reward, terminated = _meet(state)
    if state[MOVE_TIMER] == 0:
        state[MOVE_TIMER] = state[MOVE_SPEED]
        for slot in range(SLOTS):
            state[COLUMNS + slot] += state[DIRECTIONS + slot]
            if state[COLUMNS + slot] < 0 or state[COLUMNS + slot] > LAST:
                state[KINDS + slot] = EMPTY
        gold, hit = _meet(state)
        reward += gold
        terminated = terminated or hit
    state[SPAWN_TIMER] -= 1
    state[MOVE_TIMER] -= 1
    if ramping and (state[SPAWN_SPEED] > 1 or state[MOVE_SPEED] > 1):
        _ramp(state)
    return reward, terminated


@compiled
def _spawn(state: State, stream: Stream) -> None:
    from_left = uniform(stream) < 1 / 2
    is_gold = uniform(stream) < 1 / 3
    free = 0
    for slot in range(SLOTS):
        free += state[KINDS + slot] == EMPTY
    if free == 0:
        return
    skip = below(stream, free)
    for slot in range(SLOTS):
        if state[KINDS + slot] == EMPTY:
            if skip == 0:
                state[KINDS + slot] = GOLD if is_gold else ENEMY
                state[COLUMNS + slot] = 0 if from_left else LAST
                state[DIRECTIONS + slot] = 1 if from_left else -1
                return
            skip -= 1


@compiled
def _meet(state: State) -> tuple[int, bool]:
    """Collect gold in the player's cell; returns how much, and whether an enemy is there."""
    slot = state[Y] - 1
    if state[COLUMNS + slot] != state[X]:
        return 0, False
    kind = state[KINDS + slot]
    if kind == GOLD:
        state[KINDS + slot] = EMPTY
    return int(kind == GOLD), kind == ENEMY


@compiled
def _ramp(state: State) -> None:
    """Every interval spawns become more frequent, every second one moves faster."""
    if state[RAMP_TIMER] >= 0:
        state[RAMP_TIMER] -= 1
        return
    if state[MOVE_SPEED] > 1 and state[LEVEL] % 2 == 1:
        state[MOVE_SPEED] -= 1
    if state[SPAWN_SPEED] > 1:
        state[SPAWN_SPEED] -= 1
    state[LEVEL] += 1
    state[RAMP_TIMER] = RAMP_INTERVAL


@compiled
def draw(state: State, obs: Obs) -> None:
    """Set the cells of an all-zero observation."""
    put(obs, PLAYER, state[X], state[Y])
    for slot in range(SLOTS):
        kind = state[KINDS + slot]
        if kind != EMPTY:
            x = state[COLUMNS + slot]
            put(obs, kind, x, slot + 1)
            put_on_board(obs, TRAIL, x - state[DIRECTIONS + slot], slot + 1)


step_lane, begin_episode = of_lanes(reset, step, draw)
