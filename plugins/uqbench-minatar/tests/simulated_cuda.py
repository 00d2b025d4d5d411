"""The CUDA kernels equal the minatar package's games: in Numba's simulator, which is pure Python.

    NUMBA_DISABLE_JIT=1 NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/simulated_cuda.py

It needs no GPU; test_cuda.py runs it.
"""

from functools import partial
from typing import Any

import kernels
import numpy as np
import pytest
import torch
from kernels import simulated
from uqbench_minatar import cuda
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes

__all__ = ["simulated"]
SEEDS = [0, 1, *range(100, 132)]  # two blocks of threads, the second not full


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
            oracle.follow(oracles, action, env.step(torch.from_numpy(action)))


def test_an_invalid_action_does_nothing_and_actors_step_as_if_alone() -> None:
    breakout = partial(on_kernels, "breakout")
    kernels.assert_invalid_actions_do_nothing(breakout, [0, 6, -1])
    kernels.assert_actors_step_as_alone(breakout)
