"""The environment is the package's, with the stated configuration, and crashes are counted."""

from __future__ import annotations

import gymnasium
import numpy as np
import torch
from uqbench_highway.environment import Highway, HighwayOptions

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


def test_lanes_count_crashes_and_the_tasks_limit_ends_episodes() -> None:
    lanes = GymnasiumLanes(
        lambda: Highway(HighwayOptions()), [0, 1], TimeLimit(6, "terminal"), ("crashes",)
    )
    lanes.reset()
    crashes = ends = 0.0
    for _ in range(18):
        outcome = lanes.step(torch.tensor([3, 3]))
        crashes += outcome.events["crashes"].sum().item()
        ends += outcome.terminated.sum().item()
        assert not outcome.truncated.any()
        assert (outcome.terminated | (outcome.events["crashes"] == 0)).all()
    assert ends >= 6
    assert crashes >= 1


def test_it_goes_on_from_what_was_saved() -> None:
    def make() -> GymnasiumLanes:
        return GymnasiumLanes(lambda: Highway(HighwayOptions()), [4], TimeLimit(5, "terminal"))

    env = make()
    env.reset()
    for _ in range(7):
        env.step(torch.tensor([3]))
    other = make()
    other.load_state_dict(env.state_dict())
    for _ in range(8):
        given, expected = other.step(torch.tensor([1])), env.step(torch.tensor([1]))
        assert torch.equal(given.obs, expected.obs)
        assert torch.equal(given.reward, expected.reward)
