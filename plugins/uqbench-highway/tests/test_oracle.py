"""The oracle and the vector environment are the package's; crashes are counted."""

from typing import Any

import gymnasium
import highway_env  # noqa: F401 (registers its environments)
import numpy as np
import pytest
import uqbench_highway.vector
from gymnasium.vector import AutoresetMode
from uqbench_highway.config import HighwayConfig
from uqbench_highway.oracle import Highway


def test_the_config_is_the_whole_configuration_that_a_step_depends_on():
    """What else the package has is rendering, or the task's time limit."""
    config = Highway(HighwayConfig()).unwrapped.config
    pictures = {
        "offscreen_rendering", "real_time_rendering", "render_agent", "scaling", "screen_height",
        "screen_width", "show_trajectories", "centering_position", "manual_control"}  # fmt: skip
    elsewhere = {"duration", "controlled_vehicles", "neighbour_vehicles_connected_lanes"}
    stated = HighwayConfig().package_config()
    assert set(config) - pictures - elsewhere == set(stated)
    plain = gymnasium.make("highway-v0").unwrapped.config
    changed = {name for name in stated if config[name] != plain[name]}
    assert changed == {"lanes_count", "vehicles_count", "observation"}
    assert (config["lanes_count"], config["vehicles_count"]) == (5, 10)


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
    env = Highway(HighwayConfig(other_vehicles_type=aggressive, backend="oracle"))
    env.reset(seed=0)
    assert type(env.unwrapped.road.vehicles[1]).__name__ == "AggressiveVehicle"


ID = "uqbench_highway.vector:uqbench/Highway-v0"
FEW: dict[str, Any] = {"lanes_count": 3, "vehicles_count": 4, "simulation_frequency": 5}


def test_it_is_the_packages_in_gymnasiums_interface():
    envs = gymnasium.make_vec(ID, num_envs=3, max_episode_steps=4, **FEW)
    theirs = gymnasium.make_vec(
        "highway-v0", num_envs=3, vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        config=HighwayConfig(**FEW).package_config() | {"duration": 4})  # fmt: skip
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.observation_space == theirs.observation_space
    assert envs.action_space == theirs.action_space
    rng = np.random.default_rng(0)
    ended, handed_out, kept = set(), [], []
    for seed in (5, None, [3, 1, 2]):
        obs, infos = envs.reset(seed=seed)
        expected, _ = theirs.reset(seed=seed)
        assert infos == {}
        np.testing.assert_allclose(obs, expected, atol=1.2e-7)
        for _ in range(6):
            actions = rng.integers(5, size=3)
            obs, *given, infos = envs.step(actions)
            handed_out.append(obs)
            kept.append(obs.copy())
            expected, *wanted, package = theirs.step(actions)
            np.testing.assert_allclose(obs, expected, atol=1.2e-7)
            assert [g.dtype for g in given] == [w.dtype for w in wanted]
            np.testing.assert_allclose(given[0], wanted[0], atol=1.2e-7)
            assert np.array_equal(given[1], wanted[1])
            assert np.array_equal(given[2], wanted[2] & ~wanted[1])  # one end is enough
            assert ("final_obs" in infos) == ("final_obs" in package)
            if "final_obs" in infos:
                over = infos["_final_obs"]
                assert np.array_equal(over, package["_final_obs"])
                crashed, known = (of["final_info"]["crashed"] for of in (infos, package))
                assert np.array_equal(crashed, known)
                for i in np.flatnonzero(over):
                    final, known = (of["final_obs"][i] for of in (infos, package))
                    np.testing.assert_allclose(final, known, atol=1.2e-7)
                    ended.add(bool(given[1][i]))
    assert ended == {True, False}
    assert np.array_equal(handed_out, kept)  # later steps write into none of them


def test_the_packages_defaults_can_be_had_and_the_limit_left_out():
    own = {"lanes_count": 4, "vehicles_count": 50, "initial_lane_id": 0}
    envs = gymnasium.make_vec(ID, max_episode_steps=None, **own)
    obs, _ = envs.reset(seed=0)
    assert obs.shape == (1, 5, 5)
    assert (obs[0, 0, 2], obs[0, 0, 0]) == (0, 1)
    slow = [envs.step(np.array([4]))[3].any() for _ in range(41)]
    assert not any(slow)


def test_wrong_calls_are_refused():
    envs = gymnasium.make_vec(ID, num_envs=2)
    with pytest.raises(ValueError, match=r"expected 2 seeds, one per environment; got \[1\]"):
        envs.reset(seed=[1])
    with pytest.raises(ValueError, match="reset takes no options; got reset_mask"):
        envs.reset(options={"reset_mask": np.ones(2, bool)})
    with pytest.raises(ValueError, match="make the package's own environment"):
        uqbench_highway.vector.HighwayVectorEnv(backend="oracle")
