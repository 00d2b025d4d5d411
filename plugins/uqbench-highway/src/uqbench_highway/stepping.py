"""The step of one lane, including the start of the next episode; compiled for CPU and GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

from uqbench.lanes.kernels import compiled, inlined
from uqbench_highway.arrays import Motion, Status
from uqbench_highway.simulation.cars import CRASHED, EGO
from uqbench_highway.simulation.collisions import collide
from uqbench_highway.simulation.control import choose, follow_targets
from uqbench_highway.simulation.drivers import drive
from uqbench_highway.simulation.kinematics import move
from uqbench_highway.simulation.observation import observe
from uqbench_highway.simulation.reward import is_on_road, reward
from uqbench_highway.simulation.spawning import spawn


class Parameters(NamedTuple):
    """What all lanes share.

    Attributes:
        road_lanes: number of lanes of the road.
        crowding: exp(−road_lanes / 8), see ``spawning``.
        initial_road_lane: where the controlled car starts; −1 draws it.
        ego_spacing: see ``HighwayConfig``.
        spacing: of the other cars, 1 / ``vehicles_density``.
        frames: physics frames per step.
        dt: duration of a frame, s.
        collision_reward: see ``HighwayConfig``.
        right_lane_reward: see ``HighwayConfig``.
        high_speed_reward: see ``HighwayConfig``.
        low_speed: lower end of ``reward_speed_range``.
        high_speed: upper end of ``reward_speed_range``.
        normalized: whether rewards are scaled to [0, 1].
        offroad_terminal: whether leaving the road ends an episode.
        limit: episode length in steps; 0 for none.
        truncates: whether the limit truncates, rather than terminates, an episode.
    """

    road_lanes: int
    crowding: float
    initial_road_lane: int
    ego_spacing: float
    spacing: float
    frames: int
    dt: float
    collision_reward: float
    right_lane_reward: float
    high_speed_reward: float
    low_speed: float
    high_speed: float
    normalized: bool
    offroad_terminal: bool
    limit: int
    truncates: bool


class LaneArrays(NamedTuple):
    """State, observations and outcomes of all lanes; the first axis is the lanes."""

    motion: Any  # [L, N_FIELDS, V] float64: continuous state of the cars
    status: Any  # [L, N_STATUS, V] int32: discrete state of the cars
    streams: Any  # [L, 10] uint32: random streams
    length: Any  # [L] int64: steps of the episode so far
    obs: Any  # [L, observed * 5] float32
    action: Any  # [L] int64
    reward: Any  # [L] float32
    terminated: Any  # [L] uint8
    truncated: Any  # [L] uint8
    next_obs: Any  # [L, observed * 5] float32
    crashes: Any  # [L] float32


@compiled
def simulate(
    motion: Motion, status: Status, action: int, road_lanes: int, frames: int, dt: float
) -> None:
    """Apply a meta-action; then, frame by frame, all cars decide, move and collide."""
    cars = motion.shape[1]
    choose(motion, status, action, road_lanes)
    for _ in range(frames):
        follow_targets(motion, status)
        for car in range(EGO + 1, cars):
            drive(motion, status, car, road_lanes)
        for car in range(cars):
            move(motion, status, car, dt, road_lanes)
        for car in range(cars):
            for other in range(car + 1, cars):
                collide(motion, status, car, other, dt)


@inlined
def step_lane(parameters: Parameters, lanes: LaneArrays, lane: int) -> None:
    """Step one lane; if its episode ends, begin the next one."""
    motion, status = lanes.motion[lane], lanes.status[lane]
    simulate(
        motion, status, lanes.action[lane], parameters.road_lanes, parameters.frames, parameters.dt
    )
    lanes.reward[lane] = reward(
        motion,
        status,
        parameters.road_lanes,
        parameters.collision_reward,
        parameters.right_lane_reward,
        parameters.high_speed_reward,
        parameters.low_speed,
        parameters.high_speed,
        parameters.normalized,
    )
    crashed = status[CRASHED, EGO] != 0
    terminated = crashed or (parameters.offroad_terminal and not is_on_road(motion, status))
    truncated = False
    lanes.length[lane] += 1
    if 0 < parameters.limit <= lanes.length[lane]:
        truncated = parameters.truncates and not terminated
        terminated = terminated or not parameters.truncates
    lanes.crashes[lane] = crashed
    lanes.terminated[lane] = terminated
    lanes.truncated[lane] = truncated
    next_obs, obs = lanes.next_obs[lane], lanes.obs[lane]
    observe(motion, parameters.road_lanes, next_obs)
    if terminated or truncated:
        begin_episode(parameters, lanes, lane)
    else:
        for k in range(len(obs)):
            obs[k] = next_obs[k]


@inlined
def begin_episode(parameters: Parameters, lanes: LaneArrays, lane: int) -> None:
    """Draw new traffic in one lane; its random stream continues."""
    motion, status = lanes.motion[lane], lanes.status[lane]
    lanes.length[lane] = 0
    spawn(
        motion,
        status,
        lanes.streams[lane],
        parameters.road_lanes,
        parameters.crowding,
        parameters.initial_road_lane,
        parameters.ego_spacing,
        parameters.spacing,
    )
    observe(motion, parameters.road_lanes, lanes.obs[lane])
