"""One lane's step, the next episode included: what CPU and GPU both compile."""

from __future__ import annotations

from typing import Any, NamedTuple

from uqbench.kernels import compiled, inlined
from uqbench_highway.arrays import Marks, Motion
from uqbench_highway.simulation.cars import CRASHED, EGO
from uqbench_highway.simulation.collisions import collide
from uqbench_highway.simulation.control import choose, follow_targets
from uqbench_highway.simulation.drivers import drive
from uqbench_highway.simulation.kinematics import move
from uqbench_highway.simulation.observation import observe
from uqbench_highway.simulation.reward import is_on_road, reward
from uqbench_highway.simulation.spawning import spawn


class Settings(NamedTuple):
    """What is the same for all lanes.

    Attributes:
        road_lanes: of the road.
        crowding: exp(−road_lanes / 8), see ``spawning``.
        initial_lane: of the controlled car; −1 draws it.
        ego_spacing: see ``HighwayOptions``.
        spacing: of the other cars, 1 / ``vehicles_density``.
        frames: of the physics, in a step.
        dt: of a frame, s.
        for_collision: ``collision_reward``.
        for_right_lane: ``right_lane_reward``.
        for_high_speed: ``high_speed_reward``.
        low_speed: the lower end of ``reward_speed_range``.
        high_speed: its upper end.
        normalized: whether rewards are scaled to [0, 1].
        offroad_terminal: whether leaving the road ends an episode.
        limit: after how many steps an episode ends; 0: never.
        truncates: whether it is truncated then, and not terminated.
    """

    road_lanes: int
    crowding: float
    initial_lane: int
    ego_spacing: float
    spacing: float
    frames: int
    dt: float
    for_collision: float
    for_right_lane: float
    for_high_speed: float
    low_speed: float
    high_speed: float
    normalized: bool
    offroad_terminal: bool
    limit: int
    truncates: bool


class Lanes(NamedTuple):
    """The arrays of the lanes, which are their first axis: what they are made of, see, and do."""

    motion: Any  # [L, N_FIELDS, V] float64: the cars
    marks: Any  # [L, N_MARKS, V] int32: the cars
    streams: Any  # [L, 10] uint32: their random numbers
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
    motion: Motion, marks: Marks, action: int, road_lanes: int, frames: int, dt: float
) -> None:
    """Take a meta-action, then let everybody decide, move and collide, frame by frame."""
    cars = motion.shape[1]
    choose(motion, marks, action, road_lanes)
    for _ in range(frames):
        follow_targets(motion, marks)
        for car in range(EGO + 1, cars):
            drive(motion, marks, car, road_lanes)
        for car in range(cars):
            move(motion, marks, car, dt, road_lanes)
        for car in range(cars):
            for other in range(car + 1, cars):
                collide(motion, marks, car, other, dt)


@inlined
def step_lane(settings: Settings, lanes: Lanes, lane: int) -> None:
    """Step one lane, and begin its next episode where this one ended."""
    motion, marks = lanes.motion[lane], lanes.marks[lane]
    simulate(motion, marks, lanes.action[lane], settings.road_lanes, settings.frames, settings.dt)
    lanes.reward[lane] = reward(
        motion,
        marks,
        settings.road_lanes,
        settings.for_collision,
        settings.for_right_lane,
        settings.for_high_speed,
        settings.low_speed,
        settings.high_speed,
        settings.normalized,
    )
    crashed = marks[CRASHED, EGO] != 0
    terminated = crashed or (settings.offroad_terminal and not is_on_road(motion, marks))
    truncated = False
    lanes.length[lane] += 1
    if 0 < settings.limit <= lanes.length[lane]:
        truncated = settings.truncates and not terminated
        terminated = terminated or not settings.truncates
    lanes.crashes[lane] = crashed
    lanes.terminated[lane] = terminated
    lanes.truncated[lane] = truncated
    next_obs, obs = lanes.next_obs[lane], lanes.obs[lane]
    observe(motion, settings.road_lanes, next_obs)
    if terminated or truncated:
        begin_episode(settings, lanes, lane)
    else:
        for k in range(len(obs)):
            obs[k] = next_obs[k]


@inlined
def begin_episode(settings: Settings, lanes: Lanes, lane: int) -> None:
    """Draw new traffic in one lane; its random numbers go on."""
    motion, marks = lanes.motion[lane], lanes.marks[lane]
    lanes.length[lane] = 0
    spawn(
        motion,
        marks,
        lanes.streams[lane],
        settings.road_lanes,
        settings.crowding,
        settings.initial_lane,
        settings.ego_spacing,
        settings.spacing,
    )
    observe(motion, settings.road_lanes, lanes.obs[lane])
