"""The step of one lane, with sticky actions and the next episode; compiled for CPU and GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from uqbench.lanes.kernels import inlined
from uqbench_minatar.random import uniform


class Parameters(NamedTuple):
    """What all lanes share.

    Attributes:
        sticky_action_prob: see ``GameConfig``.
        difficulty_ramping: see ``GameConfig``.
        limit: episode length in steps; 0 for none.
        truncates: whether the limit truncates, rather than terminates, an episode.
    """

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


def of_lanes(
    reset: Callable[..., Any], step: Callable[..., Any], draw: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A game for lanes: functions that step one lane, and begin an episode in it.

    Each game has its own, so that a kernel is compiled of one game alone.

    Args:
        reset: function of (state, stream) that begins an episode.
        step: of (state, stream, action, ramping); returns the reward and whether the episode ended.
        draw: of (state, obs) that sets the cells of an all-zero observation.
    """

    @inlined
    def begin_episode(lanes: LaneArrays, lane: int) -> None:
        """Reset one lane's game; its random stream continues."""
        state, obs = lanes.states[lane], lanes.obs[lane]
        lanes.length[lane] = 0
        reset(state, lanes.streams[lane])
        obs[:] = 0
        draw(state, obs)

    @inlined
    def step_lane(parameters: Parameters, lanes: LaneArrays, lane: int) -> None:
        """Step one lane; if its episode ends, begin the next one."""
        state, stream = lanes.states[lane], lanes.streams[lane]
        if not uniform(stream) < parameters.sticky_action_prob:
            lanes.last_action[lane] = lanes.action[lane]
        reward, terminated = step(
            state, stream, lanes.last_action[lane], parameters.difficulty_ramping
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
        next_obs[:] = 0
        draw(state, next_obs)
        if terminated or truncated:
            begin_episode(lanes, lane)
        else:
            for k in range(len(obs)):  # faster than slices
                obs[k] = next_obs[k]

    return step_lane, begin_episode
