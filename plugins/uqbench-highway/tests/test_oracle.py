"""The oracle is the package's environment, under the task's config; crashes are counted."""

import gymnasium
import numpy as np
import pytest
from uqbench_highway.config import HighwayConfig
from uqbench_highway.oracle import Highway


def test_the_config_is_the_whole_configuration_that_a_step_depends_on():
    """What else the package has is rendering, or the task's time limit."""
    config = Highway(HighwayConfig()).unwrapped.config
    pictures = {
        "offscreen_rendering", "real_time_rendering", "render_agent", "scaling", "screen_height",
        "screen_width", "show_trajectories", "centering_position", "manual_control",
    }  # fmt: skip
    elsewhere = {"duration", "controlled_vehicles", "neighbour_vehicles_connected_lanes"}
    stated = HighwayConfig().package_config()
    assert set(config) - pictures - elsewhere == set(stated)
    plain = gymnasium.make("highway-v0").unwrapped.config
    changed = {name for name in stated if config[name] != plain[name]}
    assert changed == {"lanes_count", "vehicles_count", "observation"}
    assert (config["lanes_count"], config["vehicles_count"]) == (5, 10)


def test_it_steps_as_the_package_does():
    ours = Highway(HighwayConfig())
    theirs = gymnasium.make("highway-v0", config={"lanes_count": 5, "vehicles_count": 10})
    obs, _ = ours.reset(seed=3)
    expected, _ = theirs.reset(seed=3)
    assert obs.shape == ours.observation_space.shape == (25,)
    assert np.array_equal(obs, expected.ravel())
    for action in (3, 3, 0, 1, 2, 3, 3, 3):
        obs, reward, terminated, truncated, info = ours.step(action)
        expected, expected_reward, over, _, package = theirs.step(action)
        assert np.array_equal(obs, expected.ravel())
        assert (reward, terminated, truncated) == (expected_reward, over, False)
        assert info["events"] == {"crashes": float(package["crashed"])}
        if over:
            break


REFUSED = [
    ({"lanes_count": 0}, "lanes_count must be at least 1; got 0"),
    ({"vehicles_count": -1}, "vehicles_count must not be negative; got -1"),
    ({"vehicles_density": 0.0}, "vehicles_density must be positive; got 0.0"),
    ({"initial_lane_id": 5}, "initial_lane_id must be one of 0 to 4; got 5"),
    ({"observed_vehicles": 1}, "observed_vehicles must count the controlled one and .*; got 1"),
    ({"policy_frequency": 20}, "policy_frequency must be .* simulation_frequency, 15; got 20"),
    ({"reward_speed_range": (30.0, 20.0)}, "reward_speed_range must be a lower and a higher"),
    ({"other_vehicles_type": "a.B"}, "must be .*IDMVehicle'; got 'a.B'; backend 'oracle'"),
]


@pytest.mark.parametrize(("config", "message"), REFUSED)
def test_a_config_that_means_nothing_is_refused(config: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HighwayConfig(**config)


def test_the_oracle_has_other_types_of_drivers():
    aggressive = "highway_env.vehicle.behavior.AggressiveVehicle"
    config = HighwayConfig(other_vehicles_type=aggressive, backend="oracle")
    env = Highway(config)
    env.reset(seed=0)
    assert type(env.unwrapped.road.vehicles[1]).__name__ == "AggressiveVehicle"
