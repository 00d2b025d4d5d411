"""The step of one lane, with sticky actions and the next episode; compiled for CPU and GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from uqbench.kernels import compiled, inlined
from uqbench_minatar.arrays import Obs, State, Stream
from uqbench_minatar.config import GAMES
from uqbench_minatar.games import asterix, breakout, freeway, seaquest, space_invaders
from uqbench_minatar.random import uniform

MODULES = (asterix, breakout, freeway, seaquest, space_invaders)  # in the order of GAMES
ASTERIX, BREAKOUT, FREEWAY, SEAQUEST, SPACE_INVADERS = range(len(GAMES))


class Parameters(NamedTuple):
    """What all lanes share.

    Attributes:
        game: index in ``GAMES``.
        sticky_action_prob: see ``GameConfig``.
        difficulty_ramping: see ``GameConfig``.
        limit: episode length in steps; 0 for none.
        truncates: whether the limit truncates, rather than terminates, an episode.
    """

    game: int
    sticky_action_prob: float
    difficulty_ramping: bool
    limit: int
    truncates: bool


class LaneArrays(NamedTuple):
    """State, observations and outcomes of all lanes; the first axis is the lanes."""

    states: Any  # [L, SIZE] int32: state of the games
    streams: Any  # [L, 625] uint32: random streams
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
    """Begin an episode of a game."""
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
    """Take an action in a game; returns the reward and whether the episode ended."""
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
def step_lane(parameters: Parameters, lanes: LaneArrays, lane: int) -> None:
    """Step one lane; if its episode ends, begin the next one."""
    state, stream = lanes.states[lane], lanes.streams[lane]
    if not uniform(stream) < parameters.sticky_action_prob:
        lanes.last_action[lane] = lanes.action[lane]
    reward, terminated = step_game(
        parameters.game, state, stream, lanes.last_action[lane], parameters.difficulty_ramping
    )
    truncated = False
    lanes.length[lane] += 1
    if 0 < parameters.limit <= lanes.length[lane]:
        truncated = parameters.truncates and not terminated
        terminated = terminated or not parameters.truncates
    lanes.reward[lane] = reward
    lanes.terminated[lane] = terminated
    lanes.truncated[lane] = truncated
    next_obs, obs = lanes.next_obs[lane], lanes.obs[lane]
    draw_game(parameters.game, state, next_obs)
    if terminated or truncated:
        begin_episode(parameters, lanes, lane)
    else:
        for k in range(len(obs)):  # faster than slices
            obs[k] = next_obs[k]


@inlined
def begin_episode(parameters: Parameters, lanes: LaneArrays, lane: int) -> None:
    """Reset one lane's game; its random stream continues."""
    state = lanes.states[lane]
    lanes.length[lane] = 0
    reset_game(parameters.game, state, lanes.streams[lane])
    draw_game(parameters.game, state, lanes.obs[lane])
