"""What moves: the player, bullets, divers and enemies, and what happens when they meet."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import State
from uqbench_minatar.games.board import DOWN, FIRE, LAST, LEFT, RIGHT, UP, left_or_right
from uqbench_minatar.games.seaquest.state import (
    BULLET,
    BULLETS,
    DIRECTION,
    DIVER_MOVE_INTERVAL,
    DIVERS,
    DIVERS_ABOARD,
    ENEMY_BULLETS,
    ENEMY_SHOT_INTERVAL,
    FISH,
    MOST_DIVERS,
    MOVE,
    MOVE_SPEED,
    SHOT,
    SHOT_COOL_DOWN,
    SHOT_TIMER,
    SUB_DIRECTION,
    SUB_X,
    SUB_Y,
    SUBMARINE,
    SUBMARINES,
    SWIMMER,
    X,
    Y,
    append,
    find,
    index_of,
    meets,
    off_board,
    remove_equal,
)


@compiled
def act(state: State, action: int) -> None:
    """Shoot or move the player."""
    if action == FIRE and state[SHOT_TIMER] == 0:
        shoot(state, BULLETS, state[SUB_X], state[SUB_Y], state[SUB_DIRECTION])
        state[SHOT_TIMER] = SHOT_COOL_DOWN
    elif action in (LEFT, RIGHT):
        state[SUB_X] = left_or_right(state[SUB_X], action)
        state[SUB_DIRECTION] = 1 if action == RIGHT else -1
    elif action == UP:
        state[SUB_Y] = max(0, state[SUB_Y] - 1)
    elif action == DOWN:
        state[SUB_Y] = min(LAST - 1, state[SUB_Y] + 1)


@compiled
def shoot(state: State, bullets: int, x: int, y: int, direction: int) -> None:
    """Add a bullet to a list."""
    item = append(state, bullets, BULLET)
    state[item + X] = x
    state[item + Y] = y
    state[item + DIRECTION] = direction


@compiled
def move_bullets(state: State) -> int:
    """Move the player's bullets; returns how many enemies they shot."""
    shot = 0
    for i in range(state[BULLETS] - 1, -1, -1):
        item = index_of(BULLETS, BULLET, i)
        state[item + X] += state[item + DIRECTION]
        x, y = state[item + X], state[item + Y]
        if off_board(x):
            remove_equal(state, BULLETS, BULLET, i)
            continue
        enemies, width = FISH, SWIMMER
        target = find(state, enemies, width, x, y)
        if target < 0:
            enemies, width = SUBMARINES, SUBMARINE
            target = find(state, enemies, width, x, y)
        if target >= 0:
            remove_equal(state, enemies, width, target)
            remove_equal(state, BULLETS, BULLET, i)
            shot += 1
    return shot


@compiled
def move_divers(state: State) -> None:
    """Move the divers that the player does not pick up."""
    for i in range(state[DIVERS] - 1, -1, -1):
        item = index_of(DIVERS, SWIMMER, i)
        if not _picked_up(state, i):
            if state[item + MOVE] > 0:
                state[item + MOVE] -= 1
                continue
            state[item + MOVE] = DIVER_MOVE_INTERVAL
            state[item + X] += state[item + DIRECTION]
            if off_board(state[item + X]):
                remove_equal(state, DIVERS, SWIMMER, i)
            else:
                _picked_up(state, i)


@compiled
def _picked_up(state: State, i: int) -> bool:
    """Take diver ``i`` aboard if it meets the player and there is room; returns whether."""
    if state[DIVERS_ABOARD] >= MOST_DIVERS or not meets(state, index_of(DIVERS, SWIMMER, i)):
        return False
    remove_equal(state, DIVERS, SWIMMER, i)
    state[DIVERS_ABOARD] += 1
    return True


@compiled
def _swim(state: State, members: int, width: int, i: int) -> tuple[bool, bool, int]:
    """Move one fish or submarine.

    Returns whether it was shot, whether it hit the player, and its new place in the list: −1 if it
    was removed, one further to the front if an equal one was.
    """
    item = index_of(members, width, i)
    hit = meets(state, item)
    if state[item + MOVE] > 0:
        state[item + MOVE] -= 1
        return False, hit, i
    state[item + MOVE] = state[MOVE_SPEED]
    state[item + X] += state[item + DIRECTION]
    shot = False
    if not off_board(state[item + X]):
        if meets(state, item):
            return False, True, i
        bullet = find(state, BULLETS, BULLET, state[item + X], state[item + Y])
        if bullet < 0:
            return False, hit, i
        remove_equal(state, BULLETS, BULLET, bullet)
        shot = True
    removed = remove_equal(state, members, width, i)
    return shot, hit, -1 if removed == i else i - 1


@compiled
def move_submarines(state: State) -> tuple[int, bool]:
    """Move the submarines, which also shoot.

    Returns how many were shot, and whether one hit the player. One removed in this step may still
    shoot.
    """
    count, hit = 0, False
    for i in range(state[SUBMARINES] - 1, -1, -1):
        item = index_of(SUBMARINES, SUBMARINE, i)
        y, direction, timer = state[item + Y], state[item + DIRECTION], state[item + SHOT]
        x = state[item + X] + (direction if state[item + MOVE] == 0 else 0)
        was_shot, has_hit, place = _swim(state, SUBMARINES, SUBMARINE, i)
        count += was_shot
        hit = hit or has_hit
        if timer == 0:
            shoot(state, ENEMY_BULLETS, x, y, direction)
        if place >= 0:
            state[index_of(SUBMARINES, SUBMARINE, place) + SHOT] = (
                ENEMY_SHOT_INTERVAL if timer == 0 else timer - 1
            )
    return count, hit


@compiled
def move_fish(state: State) -> tuple[int, bool]:
    """Move the fish; returns how many were shot, and whether one hit the player."""
    count, hit = 0, False
    for i in range(state[FISH] - 1, -1, -1):
        was_shot, has_hit, _ = _swim(state, FISH, SWIMMER, i)
        count += was_shot
        hit = hit or has_hit
    return count, hit


@compiled
def move_enemy_bullets(state: State) -> bool:
    """Move the enemies' bullets; returns whether one hit the player, before or after its move."""
    hit = False
    for i in range(state[ENEMY_BULLETS] - 1, -1, -1):
        item = index_of(ENEMY_BULLETS, BULLET, i)
        hit = hit or meets(state, item)
        state[item + X] += state[item + DIRECTION]
        hit = hit or meets(state, item)
        if off_board(state[item + X]):
            remove_equal(state, ENEMY_BULLETS, BULLET, i)
    return hit
