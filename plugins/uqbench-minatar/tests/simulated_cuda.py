"""The CUDA kernels equal the minatar package's games: in Numba's simulator, which is pure Python.

    NUMBA_DISABLE_JIT=1 NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/simulated_cuda.py

It needs no GPU; test_cuda.py runs it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import torch
from uqbench_minatar import cuda
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes

from uqbench.runner.train.loop import by_actor

SEEDS = [0, 1, *range(100, 132)]  # two blocks of threads, the second not full


@pytest.fixture(autouse=True)
def _simulated() -> None:
    assert numba.config.ENABLE_CUDASIM
    assert numba.config.DISABLE_JIT


def on_kernels(game: str, seeds: list[int]) -> MinAtarLanes:
    """Lanes in the CPU's memory that the simulated kernels step."""
    env = MinAtarLanes(GameConfig(game=game), seeds)
    env.kernels = cuda.kernels(env._game, env._parameters, env.arrays)
    return env


@pytest.mark.parametrize("game", GAMES)
def test_kernels_equal_the_package(game: str, oracle: Any) -> None:
    """Two lanes for 300 steps, one by a player who gets far; then all lanes for a few."""
    for seeds, steps in ((SEEDS[:2], 300), (SEEDS, 6)):
        env = on_kernels(game, seeds)
        oracles = [oracle(game, seed, 0.1, True) for seed in seeds]
        obs, _ = env.reset()
        np.testing.assert_array_equal(obs, [one.observation() for one in oracles])
        rng = np.random.default_rng(0)
        for _ in range(steps):
            action = rng.integers(N_ACTIONS, size=len(seeds))
            action[0] = oracles[0].advice()
            out = env.step(torch.from_numpy(action))
            expected = [one.act(a) for one, a in zip(oracles, action, strict=True)]
            assert list(zip(out.reward.tolist(), out.terminated.tolist(), strict=True)) == expected
            final = np.array([one.observation() for one in oracles])
            np.testing.assert_array_equal(out.next_obs, final)
            for i in np.flatnonzero(out.terminated):
                oracles[i].package.reset()
                final[i] = oracles[i].observation()
            np.testing.assert_array_equal(out.obs, final)


def test_an_invalid_action_does_nothing() -> None:
    obs = []
    for action in (0, 6, -1):
        env = on_kernels("breakout", [0])
        env.reset()
        obs.append(env.step(torch.tensor([action])).obs.numpy().tobytes())
    assert len(set(obs)) == 1


def test_actors_of_runs_step_in_one_kernel_each_as_if_alone() -> None:
    """Two runs of three actors; the second of the second run."""
    seeds = [1, 2, 3, 11, 12, 13]
    together, alone = on_kernels("breakout", seeds), on_kernels("breakout", seeds[4:5])
    assert torch.equal(by_actor(together.reset()[0], 3)[1, 1], alone.reset()[0][0])
    for t in range(8):
        action = torch.arange(6) % 3 + t % 2
        out, own = together.step(action), alone.step(action[4:5])
        for name in ("reward", "terminated", "truncated", "next_obs", "obs"):
            assert torch.equal(by_actor(getattr(out, name), 3)[1, 1], getattr(own, name)[0]), name
