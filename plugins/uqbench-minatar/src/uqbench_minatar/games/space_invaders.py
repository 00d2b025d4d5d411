"""Space Invaders: a cannon below a block of aliens that advances and shoots."""

from __future__ import annotations

from uqbench.lanes.kernels import compiled
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.games.board import CELLS, FIRE, LAST, WIDTH, left_or_right, put
from uqbench_minatar.stepping import of_lanes

CHANNELS = 6
CANNON, ALIEN, ALIEN_LEFT, ALIEN_RIGHT, FRIENDLY_BULLET, ENEMY_BULLET = range(CHANNELS)

# a row of aliens or bullets is ten bits, column 0 the lowest
(
    X,
    DIRECTION,
    SHOT_TIMER,
    MOVE_INTERVAL,
    MOVE_TIMER,
    ALIEN_SHOT_TIMER,
    LEVEL,
    ALIENS,
) = range(8)
FRIENDLY = ALIENS + WIDTH
ENEMY = FRIENDLY + WIDTH
SIZE = ENEMY + WIDTH

BLOCK_ROWS, BLOCK = 4, 0b0011111100
SHOT_COOL_DOWN = 5
ALIEN_SHOT_INTERVAL = 10
SLOWEST, FASTEST = 12, 6  # steps between the aliens' moves while there are many


@compiled
def reset(state: State, _stream: Stream) -> None:
    """Begin an episode with a block of aliens and no bullets."""
    state[X] = 5
    state[DIRECTION] = -1
    state[SHOT_TIMER] = 0
    state[MOVE_INTERVAL] = state[MOVE_TIMER] = SLOWEST
    state[ALIEN_SHOT_TIMER] = ALIEN_SHOT_INTERVAL
    state[LEVEL] = 0
    for y in range(WIDTH):
        state[ALIENS + y] = state[FRIENDLY + y] = state[ENEMY + y] = 0
    _new_block(state)


@compiled
def step(state: State, _stream: Stream, action: int, ramping: bool) -> tuple[int, bool]:
    """Move cannon, bullets and aliens; the reward is the number of aliens shot."""
    if action == FIRE and state[SHOT_TIMER] == 0:
        state[FRIENDLY + LAST] |= 1 << state[X]
        state[SHOT_TIMER] = SHOT_COOL_DOWN
    state[X] = left_or_right(state[X], action)
    cannon = 1 << state[X]
    for y in range(LAST):
        state[FRIENDLY + y] = state[FRIENDLY + y + 1]
    state[FRIENDLY + LAST] = 0
    for y in range(LAST, 0, -1):
        state[ENEMY + y] = state[ENEMY + y - 1]
    state[ENEMY] = 0
    terminated = (state[ENEMY + LAST] | state[ALIENS + LAST]) & cannon != 0
    if state[MOVE_TIMER] == 0:
        state[MOVE_TIMER] = min(_count(state, ALIENS), state[MOVE_INTERVAL])
        landed = _move_aliens(state)
        terminated = terminated or landed or state[ALIENS + LAST] & cannon != 0
    if state[ALIEN_SHOT_TIMER] == 0:
        state[ALIEN_SHOT_TIMER] = ALIEN_SHOT_INTERVAL
        _shoot(state)
    reward = 0
    aliens = 0
    for y in range(WIDTH):
        shot = state[ALIENS + y] & state[FRIENDLY + y]
        reward += _ones(shot)
        state[ALIENS + y] &= ~shot
        state[FRIENDLY + y] &= ~shot
        aliens |= state[ALIENS + y]
    if state[SHOT_TIMER] > 0:
        state[SHOT_TIMER] -= 1
    state[MOVE_TIMER] -= 1
    state[ALIEN_SHOT_TIMER] -= 1
    if aliens == 0:
        if ramping and state[MOVE_INTERVAL] > FASTEST:
            state[MOVE_INTERVAL] -= 1
            state[LEVEL] += 1
        _new_block(state)
    return reward, terminated


@compiled
def _new_block(state: State) -> None:
    for y in range(BLOCK_ROWS):
        state[ALIENS + y] = BLOCK


@compiled
def _ones(row: int) -> int:
    """Number of bits set in a row."""
    ones = 0
    while row:
        row &= row - 1
        ones += 1
    return ones


@compiled
def _count(state: State, rows: int) -> int:
    """Number of bits set in ten rows."""
    ones = 0
    for y in range(WIDTH):
        ones += _ones(state[rows + y])
    return ones


@compiled
def _move_aliens(state: State) -> bool:
    """Move sideways, or at the edge down and turn; returns whether an alien left the last row.

    Aliens that leave the last row reappear in the first; the episode ends then.
    """
    columns = 0
    for y in range(WIDTH):
        columns |= state[ALIENS + y]
    edge = 1 if state[DIRECTION] < 0 else 1 << LAST
    if columns & edge:
        state[DIRECTION] = -state[DIRECTION]
        lowest: int = state[ALIENS + LAST]
        for y in range(LAST, 0, -1):
            state[ALIENS + y] = state[ALIENS + y - 1]
        state[ALIENS] = lowest
        return lowest != 0
    for y in range(WIDTH):
        row = state[ALIENS + y]
        state[ALIENS + y] = row >> 1 if state[DIRECTION] < 0 else row << 1
    return False


@compiled
def _shoot(state: State) -> None:
    """The lowest alien in the column nearest to the cannon shoots; ties go left."""
    for distance in range(WIDTH):
        for side in range(2):
            x = state[X] + (distance if side else -distance)
            if 0 <= x <= LAST:
                for y in range(LAST, -1, -1):
                    if (state[ALIENS + y] >> x) & 1:
                        state[ENEMY + y] |= 1 << x
                        return


@compiled
def draw(state: State, obs: Obs) -> None:
    """Set the cells of an all-zero observation."""
    put(obs, CANNON, state[X], LAST)
    _draw_rows(state, ALIENS, obs, ALIEN)
    _draw_rows(state, ALIENS, obs, ALIEN_LEFT if state[DIRECTION] < 0 else ALIEN_RIGHT)
    _draw_rows(state, FRIENDLY, obs, FRIENDLY_BULLET)
    _draw_rows(state, ENEMY, obs, ENEMY_BULLET)


@compiled
def _draw_rows(state: State, rows: int, obs: Obs, channel: int) -> None:
    for y in range(WIDTH):
        row = state[rows + y]
        for x in range(WIDTH):
            obs[CELLS * channel + WIDTH * y + x] = (row >> x) & 1


step_lane, begin_episode = of_lanes(reset, step, draw)
