"""The simulation is the package's, to the last digits of sine and power, wherever it can get to."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from highway_env.road.road import Road, RoadNetwork
from highway_env.vehicle.behavior import IDMVehicle
from uqbench_highway import random
from uqbench_highway.config import HighwayConfig
from uqbench_highway.simulation import cars, control, drivers
from uqbench_highway.simulation.collisions import collide
from uqbench_highway.simulation.drivers import is_better
from uqbench_highway.tools import compare_episodes
from uqbench_highway.tools.compare_episodes import ROADS, TOLERANCE, Ours, distance, our_state

FLOAT32 = 1.2e-7  # what is seen lies in [-1, 1]


EPISODES = [
    ("paper", "random", [3]),
    ("paper", "changing", [0, 1]),
    ("two lanes", "random", range(3)),
    ("dense", "random", range(3)),
    ("dense", "changing", [0, 1582]),
    ("coarse", "changing", range(3)),
]  # fmt: skip


@pytest.mark.parametrize(("road", "policy", "seeds"), EPISODES)
def test_episodes_are_the_packages(road, policy, seeds):
    found = compare_episodes.Comparison()
    compare_episodes.play(found, ROADS[road], compare_episodes.POLICIES[policy], seeds, 12)
    assert (found.episodes, found.apart) == (len(seeds), [])
    assert found.steps > 2 * found.episodes
    assert found.state < TOLERANCE
    assert found.reward < TOLERANCE
    assert found.obs <= FLOAT32


def test_episodes_of_many_seeds_begin_as_the_packages():
    """Lanes, places, speeds and the drivers' exponents, with the random numbers that come next."""
    for config in (HighwayConfig(), ROADS["dense"], HighwayConfig(lanes_count=1)):
        package = gymnasium.make("highway-v0", config=config.package_config())
        ours = Ours(config)
        for seed in range(10):
            for again in (seed, None):
                obs, _ = package.reset(seed=again)
                assert np.abs(ours.reset(again) - obs.ravel()).max() <= FLOAT32
                assert distance(package, ours) < 1e-12
                exponents = [v.DELTA for v in package.unwrapped.road.vehicles[1:]]
                assert ours.motion[cars.EXPONENT, 1:].tolist() == exponents


# -- crowds ---------------------------------------------------------------------------------------


def crowd(package: Any, ours: Ours, rng: np.random.Generator, lanes: int) -> None:
    """Put all cars on a short piece of the road, in any place, heading, speed and mind."""
    vehicles = package.unwrapped.road.vehicles
    for car, v in enumerate(vehicles):
        x = rng.uniform(0, 60) if rng.random() < 0.9 else rng.uniform(9_970, 10_010)
        if car and rng.random() < 0.1:
            x = vehicles[car - 1].position[0]  # level with another
        y = rng.uniform(-2, 4 * lanes - 2)
        v.position = np.array([x, y])
        v.heading = rng.choice([0.0, rng.normal(0, 0.2)])
        v.speed = rng.choice([rng.uniform(15, 32), rng.uniform(-3, 3), rng.uniform(35, 45)])
        v.crashed = bool(rng.random() < 0.1)
        v.on_state_update()
        target = int(np.clip(v.lane_index[2] + rng.integers(-1, 2), 0, lanes - 1))
        v.target_lane_index = (*v.lane_index[:2], target)
        ours.motion[[cars.X, cars.Y, cars.HEADING, cars.SPEED], car] = x, y, v.heading, v.speed
        cars.update_pose(ours.motion, ours.status, car, lanes)
        ours.status[[cars.CRASHED, cars.TARGET_ROAD_LANE], car] = v.crashed, target
        if car:
            v.timer = ours.motion[cars.TIMER, car] = rng.uniform(0.8, 1.4)


def crowded(config: HighwayConfig, crowds: int, rng: Any) -> Iterator[tuple[Any, Ours]]:
    """The package's road and ours, the same crowds on both."""
    package = gymnasium.make("highway-v0", config=config.package_config())
    ours = Ours(config)
    for seed in range(crowds):
        package.reset(seed=seed)
        ours.reset(seed)
        crowd(package, ours, rng, config.lanes_count)
        yield package, ours


@pytest.mark.parametrize(("frequency", "crowds"), [(5, 30), (15, 20)])
def test_crowds_go_on_as_the_packages(frequency, crowds):
    """Changes given up, changes to both sides, pile-ups, cars pushed off the road, its end."""
    timing = {"simulation_frequency": frequency, "policy_frequency": 5}
    config = HighwayConfig(lanes_count=4, vehicles_count=9, **timing)
    rng = np.random.default_rng(0)
    events: Counter[str] = Counter()
    for package, ours in crowded(config, crowds, rng):
        assert distance(package, ours) < TOLERANCE
        for _ in range(2):
            action, before = int(rng.integers(5)), our_state(ours)[1]
            expected, wanted, *_ = package.step(action)
            obs, given = ours.step(action)
            assert distance(package, ours) < TOLERANCE
            assert abs(given - wanted) < TOLERANCE
            assert np.abs(expected.ravel() - obs).max() <= FLOAT32
            lane, target, crashed = before[:, 1:]
            after_lane, after_target, after_crashed = our_state(ours)[1][:, 1:]
            events["given up"] += int(((lane != target) & (after_target == lane)).sum())
            events["begun"] += int(((lane == target) & (after_target > lane)).sum())
            events["begun left"] += int(((lane == target) & (after_target < lane)).sum())
            events["crashed"] += int((after_crashed > crashed).sum())
            events["arrived"] += int((after_lane != lane).sum())
            events["off the road"] += given == 0
    assert [name for name in events if not events[name]] == []
    assert len(events) == 6


def test_drivers_judge_a_change_as_the_packages():
    """MOBIL, of every car and both sides: followers are imagined with the driver's exponent."""
    rng = np.random.default_rng(0)
    judged: Counter[bool] = Counter()
    for package, ours in crowded(HighwayConfig(lanes_count=3, vehicles_count=12), 60, rng):
        for car, v in enumerate(package.unwrapped.road.vehicles[1:], 1):
            v.DELTA = ours.motion[cars.EXPONENT, car] = rng.choice([0.5, 20.0])  # so that it counts
            for neighbor in package.unwrapped.road.network.side_lanes(v.lane_index):
                expected = v.mobil(neighbor)
                assert is_better(ours.motion, ours.status, car, neighbor[2]) == expected
                judged[expected] += 1
    assert min(judged[True], judged[False]) > 100


def test_two_cars_collide_as_the_packages():
    """Twenty meters apart or upon each other, at every angle."""
    road, rng = Road(RoadNetwork.straight_road_network(2)), np.random.default_rng(0)
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for _ in range(1_200):
        motion, status = np.zeros((cars.N_FIELDS, 2)), np.zeros((cars.N_STATUS, 2), np.int32)
        both = []
        for car in range(2):
            x, y = 100 + rng.normal(0, 3), rng.normal(0, 2)
            heading, speed = rng.choice([0.0, rng.normal(0, 0.7)]), rng.normal(15, 15)
            both.append(IDMVehicle(road, [x, y], heading, speed))
            motion[[cars.X, cars.Y, cars.HEADING, cars.SPEED], car] = x, y, heading, speed
            cars.update_pose(motion, status, car, 2)
        one, other = both
        one.handle_collisions(other, 0.2)
        collide(motion, status, 0, 1, 0.2)
        for car, v in enumerate(both):
            assert status[cars.CRASHED, car] == v.crashed
            assert status[cars.PUSHED, car] == (v.impact is not None)
            if v.impact is not None:
                np.testing.assert_allclose(motion[[cars.PUSH_X, cars.PUSH_Y], car], v.impact, 1e-9)
        outcomes[one.crashed, one.impact is not None] += 1
    assert min(outcomes.values()) > 10
    assert set(outcomes) == {(False, False), (False, True), (True, True)}


def test_constants_are_the_packages():
    """Those that decide so rarely that no comparison might notice."""
    assert drivers.MIN_GAIN == IDMVehicle.LANE_CHANGE_MIN_ACC_GAIN
    assert drivers.MAX_BRAKING_IMPOSED == IDMVehicle.LANE_CHANGE_MAX_BRAKING_IMPOSED
    assert drivers.LANE_CHANGE_DELAY == IDMVehicle.LANE_CHANGE_DELAY
    assert drivers.MAX_ACCELERATION == IDMVehicle.ACC_MAX
    assert IDMVehicle.POLITENESS == 0
    assert control.MAX_STEERING == IDMVehicle.MAX_STEERING_ANGLE
    assert (cars.MAX_SPEED, -cars.MAX_SPEED) == (IDMVehicle.MAX_SPEED, IDMVehicle.MIN_SPEED)


# -- exact facts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 7, 2**32, 10**18])
def test_random_numbers_are_numpys(seed):
    ours, theirs = random.seeded(seed), np.random.default_rng(seed)
    for _ in range(300):
        for n in (1, 2, 3, 5, 1000, 2**31 + 1):
            assert random.below(ours, n) == theirs.integers(n)
        assert random.uniform(ours, 0.9, 1.1) == theirs.uniform(0.9, 1.1)
        assert random.below(ours, 5) == theirs.choice(5)
    state = theirs.bit_generator.state
    words = [(state["state"]["state"] >> 32 * k) & 0xFFFFFFFF for k in range(random.WORDS)]
    assert ours[: random.WORDS].tolist() == words
    assert ours[random.HALF_LEFT] == state["has_uint32"]
