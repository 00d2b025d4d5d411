"""CartPole's vector environment is Gymnasium's own, bit for bit."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_it_is_gymnasiums_own_cartpole() -> None:
    ours = gymnasium.make_vec("uqbench_sentinel.vector:uqbench/CartPole-v0", num_envs=3)
    theirs = gymnasium.make_vec(
        "CartPole-v0", 3, "sync", {"autoreset_mode": AutoresetMode.SAME_STEP}
    )
    assert ours.observation_space == theirs.observation_space
    draws, ends = np.random.default_rng(0), 0
    for seed in (7, None, [3, 1, 2]):
        obs, _ = ours.reset(seed=seed)
        expected, _ = theirs.reset(seed=seed)
        assert np.array_equal(obs, expected)
        for _ in range(100):
            actions = draws.integers(2, size=3)
            obs, *given, infos = ours.step(actions)
            expected, *wanted, package = theirs.step(actions)
            assert np.array_equal(obs, expected)
            assert all(np.array_equal(g, w) for g, w in zip(given, wanted, strict=True))
            for i in np.flatnonzero(given[1] | given[2]):
                ends += 1
                assert np.array_equal(infos["final_obs"][i], package["final_obs"][i])
    assert ends > 5
