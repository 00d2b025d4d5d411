"""The reference is the package's environment, with the stated settings; crashes are counted."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from uqbench_highway.options import HighwayOptions
from uqbench_highway.reference import Highway

from uqbench.environment import GymnasiumLanes, TimeLimit


def test_options_are_the_whole_configuration_that_a_step_depends_on() -> None:
    """Whatever the package has beside them draws pictures, or is the task's limit."""
    config = Highway(HighwayOptions()).unwrapped.config
    pictures = {
        "offscreen_rendering", "real_time_rendering", "render_agent", "scaling", "screen_height",
        "screen_width", "show_trajectories", "centering_position", "manual_control",
    }  # fmt: skip
    elsewhere = {"duration", "controlled_vehicles", "neighbour_vehicles_connected_lanes"}
    stated = HighwayOptions().package_config()
    assert set(config) - pictures - elsewhere == set(stated)
    plain = gymnasium.make("highway-v0").unwrapped.config
    changed = {name for name in stated if config[name] != plain[name]}
    assert changed == {"lanes_count", "vehicles_count", "observation"}
    assert (config["lanes_count"], config["vehicles_count"]) == (5, 10)


def test_it_steps_as_the_package_does() -> None:
    ours = Highway(HighwayOptions())
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


def test_it_goes_on_from_what_was_saved() -> None:
    def make() -> GymnasiumLanes:
        return GymnasiumLanes(lambda: Highway(HighwayOptions()), [4], TimeLimit(3, "terminal"))

    env = make()
    env.reset()
    for _ in range(4):
        env.step(torch.tensor([3]))
    other = make()
    other.load_state_dict(env.state_dict())
    for _ in range(4):
        given, expected = other.step(torch.tensor([1])), env.step(torch.tensor([1]))
        assert torch.equal(given.obs, expected.obs)
        assert torch.equal(given.reward, expected.reward)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lanes_count": 0}, "lanes_count is at least 1; got 0"),
        ({"vehicles_count": -1}, "vehicles_count is not negative; got -1"),
        ({"vehicles_density": 0.0}, "vehicles_density is positive; got 0.0"),
        ({"initial_lane_id": 5}, "initial_lane_id is one of 0 to 4; got 5"),
        ({"observed_vehicles": 1}, "observed_vehicles counts the controlled one and .*; got 1"),
        ({"policy_frequency": 20}, "policy_frequency is .* simulation_frequency, 15; got 20"),
        ({"reward_speed_range": (30.0, 20.0)}, "reward_speed_range is a lower and a higher"),
        ({"other_vehicles_type": "a.B"}, "is .*IDMVehicle'; got 'a.B', .* backend 'reference'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HighwayOptions(**settings)


def test_other_drivers_are_the_references() -> None:
    aggressive = "highway_env.vehicle.behavior.AggressiveVehicle"
    options = HighwayOptions(other_vehicles_type=aggressive, backend="reference")
    env = Highway(options)
    env.reset(seed=0)
    assert type(env.unwrapped.road.vehicles[1]).__name__ == "AggressiveVehicle"
