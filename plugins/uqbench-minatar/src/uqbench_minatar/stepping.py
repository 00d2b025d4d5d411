"""One lane's step, sticky actions and the next episode included: what CPU and GPU both compile."""

from __future__ import annotations

from typing import Any, NamedTuple

from uqbench.kernels import compiled, inlined
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.games import asterix, breakout, freeway, seaquest, space_invaders
from uqbench_minatar.options import GAMES
from uqbench_minatar.random import uniform

MODULES = (asterix, breakout, freeway, seaquest, space_invaders)  # in the order of GAMES
ASTERIX, BREAKOUT, FREEWAY, SEAQUEST, SPACE_INVADERS = range(len(GAMES))


class Settings(NamedTuple):
    """What is the same for all lanes.

    Attributes:
        game: the place of the game in ``GAMES``.
        sticky_action_prob: see ``GameOptions``.
        difficulty_ramping: see ``GameOptions``.
        limit: after how many steps an episode ends; 0: never.
        truncates: whether it is truncated then, and not terminated.
    """

    game: int
    sticky_action_prob: float
    difficulty_ramping: bool
    limit: int
    truncates: bool


class Lanes(NamedTuple):
    """The arrays of the lanes, which are their first axis: what they are made of, see, and do."""

    states: Any  # [L, SIZE] int32: the games
    streams: Any  # [L, 625] uint32: their random numbers
    last_action: Any  # [L] int64
    length: Any  # [L] int64: steps of the episode so far
    obs: Any  # [L, C * 100] uint8
    action: Any  # [L] int64
    reward: Any  # [L] float32
    terminated: Any  # [L] uint8
    truncated: Any  # [L] uint8
    next_obs: Any  # [L, C * 100] uint8


@compiled
def reset_game(game: int, state: State, stream: Stream) -> None:
    """Begin an episode in a game."""
    if game == ASTERIX:
        asterix.reset(state)
    elif game == BREAKOUT:
        breakout.reset(state, stream)
    elif game == FREEWAY:
        freeway.reset(state, stream)
    elif game == SEAQUEST:
        seaquest.reset(state)
    else:
        space_invaders.reset(state)


@compiled
def draw_game(game: int, state: State, obs: Obs) -> None:
    """Write an observation."""
    obs[:] = 0
    if game == ASTERIX:
        asterix.draw(state, obs)
    elif game == BREAKOUT:
        breakout.draw(state, obs)
    elif game == FREEWAY:
        freeway.draw(state, obs)
    elif game == SEAQUEST:
        seaquest.draw(state, obs)
    else:
        space_invaders.draw(state, obs)


@compiled
def step_game(
    game: int, state: State, stream: Stream, action: int, ramping: bool
) -> tuple[int, bool]:
    """Take an action in a game: the reward, and whether the episode ended."""
    if game == ASTERIX:
        return asterix.step(state, stream, action, ramping)
    if game == BREAKOUT:
        return breakout.step(state, action)
    if game == FREEWAY:
        return freeway.step(state, stream, action)
    if game == SEAQUEST:
        return seaquest.step(state, stream, action, ramping)
    return space_invaders.step(state, action, ramping)


@inlined
def step_lane(settings: Settings, lanes: Lanes, lane: int) -> None:
    """Step one lane, and begin its next episode where this one ended."""
    state, stream = lanes.states[lane], lanes.streams[lane]
    if not uniform(stream) < settings.sticky_action_prob:
        lanes.last_action[lane] = lanes.action[lane]
    reward, terminated = step_game(
        settings.game, state, stream, lanes.last_action[lane], settings.difficulty_ramping
    )
    truncated = False
    lanes.length[lane] += 1
    if 0 < settings.limit <= lanes.length[lane]:
        truncated = settings.truncates and not terminated
        terminated = terminated or not settings.truncates
    lanes.reward[lane] = reward
    lanes.terminated[lane] = terminated
    lanes.truncated[lane] = truncated
    next_obs, obs = lanes.next_obs[lane], lanes.obs[lane]
    draw_game(settings.game, state, next_obs)
    if terminated or truncated:
        begin_episode(settings, lanes, lane)
    else:
        for k in range(len(obs)):  # faster than slices
            obs[k] = next_obs[k]


@inlined
def begin_episode(settings: Settings, lanes: Lanes, lane: int) -> None:
    """Reset one lane's game; its random numbers go on."""
    state = lanes.states[lane]
    lanes.length[lane] = 0
    reset_game(settings.game, state, lanes.streams[lane])
    draw_game(settings.game, state, lanes.obs[lane])
