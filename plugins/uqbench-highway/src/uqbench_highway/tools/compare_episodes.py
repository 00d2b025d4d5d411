"""Compare the simulation with the package, episode by episode, state by state.

    python -m uqbench_highway.tools.compare_episodes --episodes 1000

plays the same episodes in both, with the same seeds and actions, and prints the largest
differences. Where a decision flips, because numbers that differ in their last digits fall on two
sides of a threshold, the two *diverge*: such episodes are stopped, counted, and printed with the
step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import highway_env  # noqa: F401 (registers its environments)
import numpy as np
from numpy.typing import NDArray

from uqbench_highway import random
from uqbench_highway.config import FEATURES, N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import parameters_of
from uqbench_highway.simulation import cars
from uqbench_highway.simulation.control import FASTER, IDLE, LANE_LEFT, LANE_RIGHT
from uqbench_highway.simulation.observation import observe
from uqbench_highway.simulation.reward import reward
from uqbench_highway.simulation.spawning import spawn
from uqbench_highway.stepping import simulate

TOLERANCE = 1e-9  # m, rad, m/s, s

Policy = Callable[[np.random.Generator], int]


def random_policy(rng: np.random.Generator) -> int:
    """Uniform over the meta-actions."""
    return int(rng.integers(N_ACTIONS))


def changing_policy(rng: np.random.Generator) -> int:
    """Changes road lanes seven times in ten."""
    return int(rng.choice((LANE_LEFT, IDLE, LANE_RIGHT, FASTER), p=(0.35, 0.1, 0.35, 0.2)))


POLICIES: dict[str, Policy] = {"random": random_policy, "changing": changing_policy}

ROADS: dict[str, HighwayConfig] = {
    "paper": HighwayConfig(),
    "two lanes": HighwayConfig(lanes_count=2, vehicles_count=4, simulation_frequency=10),
    "dense": HighwayConfig(
        lanes_count=3,
        vehicles_count=6,
        vehicles_density=2.0,
        ego_spacing=1.0,
        simulation_frequency=5,
        policy_frequency=2,
        offroad_terminal=True,
    ),
    "coarse": HighwayConfig(
        lanes_count=4,
        vehicles_count=5,
        simulation_frequency=5,
        initial_lane_id=1,
        observed_vehicles=4,
        normalize_reward=False,
    ),
}


class Ours:
    """The plugin's simulation of one environment, in double precision."""

    def __init__(self, config: HighwayConfig) -> None:
        vehicles = 1 + config.vehicles_count
        self._parameters = parameters_of(config, None)
        self._stream = random.seeded(0)
        self.motion = np.zeros((cars.N_FIELDS, vehicles))
        self.status = np.zeros((cars.N_STATUS, vehicles), np.int32)
        self._obs = np.zeros(FEATURES * config.observed_vehicles, np.float32)

    def reset(self, seed: int | None) -> NDArray[np.float32]:
        """Begin an episode; without a seed, the random stream continues."""
        if seed is not None:
            self._stream = random.seeded(seed)
        s = self._parameters
        spawn(
            self.motion,
            self.status,
            self._stream,
            s.road_lanes,
            s.crowding,
            s.initial_road_lane,
            s.ego_spacing,
            s.spacing,
        )
        return self._observation()

    def step(self, action: int) -> tuple[NDArray[np.float32], float]:
        """Take a meta-action; returns observation and reward."""
        s = self._parameters
        simulate(self.motion, self.status, action, s.road_lanes, s.frames, s.dt)
        given = reward(
            self.motion,
            self.status,
            s.road_lanes,
            s.collision_reward,
            s.right_lane_reward,
            s.high_speed_reward,
            s.low_speed,
            s.high_speed,
            s.normalized,
        )
        return self._observation(), given

    def _observation(self) -> NDArray[np.float32]:
        observe(self.motion, self._parameters.road_lanes, self._obs)
        return self._obs


@dataclass
class Comparison:
    """The largest differences between the two, over episodes.

    Attributes:
        episodes: number played.
        steps: number taken.
        crashes: of the controlled car.
        others: other cars that crashed.
        changes: lane changes of the other cars.
        state: of a position, heading, speed, target speed or timer.
        reward: of a reward.
        obs: of an observed number, which is float32.
        apart: seed and step of episodes that diverged, which count until then.
    """

    episodes: int = 0
    steps: int = 0
    crashes: int = 0
    others: int = 0
    changes: int = 0
    state: float = 0.0
    reward: float = 0.0
    obs: float = 0.0
    apart: list[tuple[int, int]] = field(default_factory=list)


def package_state(package: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The package's cars ``[6, V]``, and their road lanes, targets and crashes ``[3, V]``."""
    vehicles = package.unwrapped.road.vehicles
    motion = [
        (*v.position, v.heading, v.speed, v.target_speed, getattr(v, "timer", 0.0))
        for v in vehicles
    ]
    status = [(v.lane_index[2], v.target_lane_index[2], v.crashed) for v in vehicles]
    return np.array(motion, np.float64).T, np.array(status, np.int32).T


def our_state(ours: Ours) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The same for the plugin's simulation."""
    rows = [cars.X, cars.Y, cars.HEADING, cars.SPEED, cars.TARGET_SPEED, cars.TIMER]
    motion = ours.motion[rows]
    motion[-1, cars.EGO] = 0  # the package's controlled car has no timer
    return motion, ours.status[[cars.ROAD_LANE, cars.TARGET_ROAD_LANE, cars.CRASHED]]


def distance(package: Any, ours: Ours) -> float:
    """The largest difference of the states; infinite if a road lane or a crash differs."""
    (theirs, their_status), (own, own_status) = package_state(package), our_state(ours)
    if not np.array_equal(their_status, own_status):
        return np.inf
    return float(np.abs(theirs - own).max())


def play(
    found: Comparison, config: HighwayConfig, policy: Policy, seeds: Iterable[int], limit: int
) -> None:
    """Play one episode per seed in both, of at most ``limit`` steps, and add to the results."""
    package = gymnasium.make("highway-v0", config=config.package_config())
    ours = Ours(config)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        found.episodes += 1
        expected, _ = package.reset(seed=seed)
        obs = ours.reset(seed)
        step, wanted, given, over = 0, 0.0, 0.0, False
        while True:
            state = distance(package, ours)
            if state > TOLERANCE:
                found.apart.append((seed, step))
                break
            found.state = max(found.state, state)
            found.obs = max(found.obs, float(np.abs(expected.ravel() - obs).max()))
            found.reward = max(found.reward, abs(wanted - given))
            if over or step == limit:
                break
            action, road_lanes = policy(rng), ours.status[cars.ROAD_LANE, 1:].copy()
            expected, rewarded, over, _, _ = package.step(action)
            wanted = float(rewarded)
            obs, given = ours.step(action)
            step += 1
            found.changes += int((ours.status[cars.ROAD_LANE, 1:] != road_lanes).sum())
        found.steps += step
        found.crashes += int(ours.status[cars.CRASHED, cars.EGO])
        found.others += int(ours.status[cars.CRASHED, 1:].sum())


def main() -> None:
    """Print one row per road and policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100, help="of each road and policy")
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=list(ROADS))
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=40, help="steps of an episode")
    arguments = parser.parse_args()
    titles = ("road", "policy", "episodes", "steps", "changes", "crashes", "others", "apart")
    print("{:10}{:10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>7}".format(*titles), end="")
    print("{:>10}{:>10}{:>10}{:>9}".format("state", "reward", "obs", "seconds"))
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.episodes)
    for road in arguments.roads:
        for policy in arguments.policies:
            found, began = Comparison(), time.process_time()
            play(found, ROADS[road], POLICIES[policy], seeds, arguments.limit)
            print(
                f"{road:10}{policy:10}{found.episodes:9}{found.steps:9}{found.changes:9}"
                f"{found.crashes:9}{found.others:9}{len(found.apart):7}"
                f"{found.state:10.1e}{found.reward:10.1e}{found.obs:10.1e}"
                f"{time.process_time() - began:9.1f}",
                flush=True,
            )
            for seed, step in found.apart:
                print(f"  apart: seed {seed}, step {step}", flush=True)


if __name__ == "__main__":
    main()
