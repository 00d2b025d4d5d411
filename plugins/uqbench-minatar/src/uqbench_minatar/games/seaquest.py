"""Seaquest: a submarine that shoots, picks up divers and comes up for air.

Bullets, fish, submarines and divers are lists: a count, and room for as many as there can be. They
are walked through as the package walks through its lists, from the back, and what is removed is
the first that is *equal*, which may be another.
"""

from __future__ import annotations

from uqbench.kernels import compiled
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.games.board import (
    DOWN,
    FIRE,
    LAST,
    LEFT,
    RIGHT,
    UP,
    left_or_right,
    put,
    put_on_board,
)
from uqbench_minatar.random import below, uniform

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

# what a member of a list is: column, row, direction and, where it has them, its timers
X, Y, DIRECTION, MOVE, SHOT = range(5)
BULLET, SWIMMER, SUBMARINE = 3, 4, 5  # how many of these

# One enemy a step comes, crosses the board in ten moves, of at most 6 steps each: at most 60 of
# them. Each has one bullet on the board, since that is gone in ten steps and the next comes in 11.
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


@compiled
def reset(state: State) -> None:
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
    """Spawn, move everything, and breathe; the reward is for enemies shot and divers saved."""
    if state[SPAWN_TIMER] == 0:
        _spawn_enemy(state, stream)
        state[SPAWN_TIMER] = state[SPAWN_SPEED]
    if state[DIVER_TIMER] == 0:
        _spawn_diver(state, stream)
        state[DIVER_TIMER] = DIVER_SPAWN_SPEED
    _act(state, action)
    reward = _move_bullets(state)
    _move_divers(state)
    shot, hit_by_submarine = _move_submarines(state)
    reward += shot
    hit_by_bullet = _move_enemy_bullets(state)
    shot, hit_by_fish = _move_fish(state)
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
            reward += _surface(state, ramping)
    return reward, terminated


# -- lists ----------------------------------------------------------------------------------------


@compiled
def _item(members: int, width: int, i: int) -> int:
    """Where member ``i`` of a list is in the state."""
    return members + 1 + width * i


@compiled
def _append(state: State, members: int, width: int) -> int:
    """Make room for another member: where it is."""
    state[members] += 1
    return _item(members, width, state[members] - 1)


@compiled
def _remove_equal(state: State, members: int, width: int, i: int) -> int:
    """Remove the first member that equals member ``i``: which one that was."""
    this = _item(members, width, i)
    first = 0
    while first < i:
        other = _item(members, width, first)
        same = True
        for k in range(width):
            same = same and state[other + k] == state[this + k]
        if same:
            break
        first += 1
    state[members] -= 1
    end = _item(members, width, state[members])
    for k in range(_item(members, width, first), end):
        state[k] = state[k + width]
    return first


@compiled
def _find(state: State, members: int, width: int, x: int, y: int) -> int:
    """The first member of a list that is in a cell; -1 where none is."""
    for i in range(state[members]):
        item = _item(members, width, i)
        if state[item + X] == x and state[item + Y] == y:
            return i
    return -1


@compiled
def _off_board(x: int) -> bool:
    return x < 0 or x > LAST


@compiled
def _meets(state: State, item: int) -> bool:
    """Whether a member of a list is where the player's front is."""
    return bool(state[item + X] == state[SUB_X] and state[item + Y] == state[SUB_Y])


# -- what comes -----------------------------------------------------------------------------------


@compiled
def _spawn_enemy(state: State, stream: Stream) -> None:
    """A fish or a submarine, unless one swims in its row against it."""
    direction = 1 if uniform(stream) < 1 / 2 else -1
    is_submarine = uniform(stream) < 1 / 3
    y = 1 + below(stream, 8)
    if _is_against(state, SUBMARINES, SUBMARINE, y, direction):
        return
    if _is_against(state, FISH, SWIMMER, y, direction):
        return
    if is_submarine:
        item = _append(state, SUBMARINES, SUBMARINE)
        state[item + SHOT] = ENEMY_SHOT_INTERVAL
    else:
        item = _append(state, FISH, SWIMMER)
    _enter(state, item, y, direction)
    state[item + MOVE] = state[MOVE_SPEED]


@compiled
def _spawn_diver(state: State, stream: Stream) -> None:
    direction = 1 if uniform(stream) < 1 / 2 else -1
    item = _append(state, DIVERS, SWIMMER)
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
        item = _item(members, width, i)
        if state[item + Y] == y and state[item + DIRECTION] != direction:
            return True
    return False


# -- what moves -----------------------------------------------------------------------------------


@compiled
def _act(state: State, action: int) -> None:
    if action == FIRE and state[SHOT_TIMER] == 0:
        _shoot(state, BULLETS, state[SUB_X], state[SUB_Y], state[SUB_DIRECTION])
        state[SHOT_TIMER] = SHOT_COOL_DOWN
    elif action in (LEFT, RIGHT):
        state[SUB_X] = left_or_right(state[SUB_X], action)
        state[SUB_DIRECTION] = 1 if action == RIGHT else -1
    elif action == UP:
        state[SUB_Y] = max(0, state[SUB_Y] - 1)
    elif action == DOWN:
        state[SUB_Y] = min(LAST - 1, state[SUB_Y] + 1)


@compiled
def _shoot(state: State, bullets: int, x: int, y: int, direction: int) -> None:
    item = _append(state, bullets, BULLET)
    state[item + X] = x
    state[item + Y] = y
    state[item + DIRECTION] = direction


@compiled
def _move_bullets(state: State) -> int:
    """Move the player's bullets: how many enemies they shot."""
    shot = 0
    for i in range(state[BULLETS] - 1, -1, -1):
        item = _item(BULLETS, BULLET, i)
        state[item + X] += state[item + DIRECTION]
        x, y = state[item + X], state[item + Y]
        if _off_board(x):
            _remove_equal(state, BULLETS, BULLET, i)
            continue
        enemies, width = FISH, SWIMMER
        target = _find(state, enemies, width, x, y)
        if target < 0:
            enemies, width = SUBMARINES, SUBMARINE
            target = _find(state, enemies, width, x, y)
        if target >= 0:
            _remove_equal(state, enemies, width, target)
            _remove_equal(state, BULLETS, BULLET, i)
            shot += 1
    return shot


@compiled
def _move_divers(state: State) -> None:
    """Move the divers that the player does not pick up."""
    for i in range(state[DIVERS] - 1, -1, -1):
        item = _item(DIVERS, SWIMMER, i)
        if not _picked_up(state, i):
            if state[item + MOVE] > 0:
                state[item + MOVE] -= 1
                continue
            state[item + MOVE] = DIVER_MOVE_INTERVAL
            state[item + X] += state[item + DIRECTION]
            if _off_board(state[item + X]):
                _remove_equal(state, DIVERS, SWIMMER, i)
            else:
                _picked_up(state, i)


@compiled
def _picked_up(state: State, i: int) -> bool:
    """Take diver ``i`` aboard where there is one to take and room for it."""
    if state[DIVERS_ABOARD] >= MOST_DIVERS or not _meets(state, _item(DIVERS, SWIMMER, i)):
        return False
    _remove_equal(state, DIVERS, SWIMMER, i)
    state[DIVERS_ABOARD] += 1
    return True


@compiled
def _swim(state: State, members: int, width: int, i: int) -> tuple[bool, bool, int]:
    """Move one fish or submarine.

    Returns whether it was shot, whether it hit the player, and its new place in the list: -1 where
    it was removed, one nearer to the front where one that equals it was.
    """
    item = _item(members, width, i)
    hit = _meets(state, item)
    if state[item + MOVE] > 0:
        state[item + MOVE] -= 1
        return False, hit, i
    state[item + MOVE] = state[MOVE_SPEED]
    state[item + X] += state[item + DIRECTION]
    shot = False
    if not _off_board(state[item + X]):
        if _meets(state, item):
            return False, True, i
        bullet = _find(state, BULLETS, BULLET, state[item + X], state[item + Y])
        if bullet < 0:
            return False, hit, i
        _remove_equal(state, BULLETS, BULLET, bullet)
        shot = True
    removed = _remove_equal(state, members, width, i)
    return shot, hit, -1 if removed == i else i - 1


@compiled
def _move_submarines(state: State) -> tuple[int, bool]:
    """Move the submarines, which shoot: how many were shot, and whether one hit the player.

    One that was removed in this step may still shoot.
    """
    count, hit = 0, False
    for i in range(state[SUBMARINES] - 1, -1, -1):
        item = _item(SUBMARINES, SUBMARINE, i)
        y, direction, timer = state[item + Y], state[item + DIRECTION], state[item + SHOT]
        x = state[item + X] + (direction if state[item + MOVE] == 0 else 0)
        was_shot, has_hit, place = _swim(state, SUBMARINES, SUBMARINE, i)
        count += was_shot
        hit = hit or has_hit
        if timer == 0:
            _shoot(state, ENEMY_BULLETS, x, y, direction)
        if place >= 0:
            state[_item(SUBMARINES, SUBMARINE, place) + SHOT] = (
                ENEMY_SHOT_INTERVAL if timer == 0 else timer - 1
            )
    return count, hit


@compiled
def _move_fish(state: State) -> tuple[int, bool]:
    """Move the fish: how many were shot, and whether one hit the player."""
    count, hit = 0, False
    for i in range(state[FISH] - 1, -1, -1):
        was_shot, has_hit, _ = _swim(state, FISH, SWIMMER, i)
        count += was_shot
        hit = hit or has_hit
    return count, hit


@compiled
def _move_enemy_bullets(state: State) -> bool:
    """Move the enemies' bullets: whether one hit the player, before or after its move."""
    hit = False
    for i in range(state[ENEMY_BULLETS] - 1, -1, -1):
        item = _item(ENEMY_BULLETS, BULLET, i)
        hit = hit or _meets(state, item)
        state[item + X] += state[item + DIRECTION]
        hit = hit or _meets(state, item)
        if _off_board(state[item + X]):
            _remove_equal(state, ENEMY_BULLETS, BULLET, i)
    return hit


@compiled
def _surface(state: State, ramping: bool) -> int:
    """Take air for a diver, which makes the game harder; six divers are worth the air left.

    Of six, minus one is left aboard, and fewer the next time: from then on air is free.
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


# -- the observation ------------------------------------------------------------------------------


@compiled
def draw(state: State, obs: Obs) -> None:
    """Set the cells of an observation of zeros."""
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
        item = _item(members, width, i)
        put(obs, channel, state[item + X], state[item + Y])


@compiled
def _draw_trails(state: State, members: int, width: int, obs: Obs) -> None:
    for i in range(state[members]):
        item = _item(members, width, i)
        put_on_board(obs, TRAIL, state[item + X] - state[item + DIRECTION], state[item + Y])
