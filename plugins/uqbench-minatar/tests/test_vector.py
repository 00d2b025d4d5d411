"""The vector environments are the package's, vectorized by Gymnasium, bit for bit."""

import gymnasium
import minatar.gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from uqbench_minatar.config import GAMES

ENVS, STEPS = 3, 250


@pytest.fixture(scope="module", autouse=True)
def registered():
    minatar.gym.register_envs()


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("limit", [None, 40])
def test_it_is_the_packages_own_environment(game: str, limit: int | None) -> None:
    name = game.title().replace("_", "")
    own = f"uqbench_minatar.vector:uqbench/MinAtar-{name}-v0"
    ours = gymnasium.make_vec(own, ENVS, max_episode_steps=limit)
    theirs = gymnasium.make_vec(
        f"MinAtar/{name}-v0", ENVS, vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        **({} if limit is None else {"max_episode_steps": limit}))  # fmt: skip
    draws, ends = np.random.default_rng(0), 0
    for seed in (7, None, [3, 1, 2]):
        obs, _ = ours.reset(seed=seed)
        expected, _ = theirs.reset(seed=seed)
        assert np.array_equal(obs, np.moveaxis(expected, -1, 1))
        for _ in range(STEPS):
            actions = draws.integers(6, size=ENVS)
            obs, *given, infos = ours.step(actions)
            expected, *wanted, package = theirs.step(actions)
            assert np.array_equal(obs, np.moveaxis(expected, -1, 1))
            assert np.array_equal(given[0], wanted[0])
            assert np.array_equal(given[1], wanted[1])
            assert np.array_equal(given[2], wanted[2] & ~wanted[1])  # one end is enough
            for i in np.flatnonzero(given[1] | given[2]):
                ends += 1
                final = np.moveaxis(package["final_obs"][i], -1, 0)
                assert np.array_equal(infos["final_obs"][i], final)
    assert ends or game == "freeway"
