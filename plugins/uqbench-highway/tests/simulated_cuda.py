"""The CUDA kernels equal the package: in Numba's simulator, which is pure Python.

    NUMBA_DISABLE_JIT=1 NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/simulated_cuda.py

It needs no GPU; test_cuda.py runs it.
"""

from functools import partial

import kernels
import numpy as np
import pytest
import torch
from kernels import simulated
from uqbench_highway import cuda
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.environment import make
from uqbench_highway.lanes import HighwayLanes

from uqbench.environment import TimeLimit

__all__ = ["simulated"]
SEEDS = list(range(34))  # two blocks of threads, the second not full
LIMIT = TimeLimit(2, "truncation")


def on_kernels(config: HighwayConfig, seeds: list[int]) -> HighwayLanes:
    """Lanes in the CPU's memory that the simulated kernels step."""
    env = HighwayLanes(config, seeds, LIMIT)
    env.kernels = cuda.kernels(env._parameters, env.arrays)
    return env


@pytest.mark.parametrize(("seeds", "vehicles", "steps"), [(SEEDS[:2], 3, 3), (SEEDS, 1, 2)])
def test_kernels_equal_the_package(seeds, vehicles, steps):
    config = {"lanes_count": 3, "vehicles_count": vehicles, "simulation_frequency": 5}
    env = on_kernels(HighwayConfig(**config), seeds)
    oracle = make(HighwayConfig(**config, backend="oracle"), seeds, LIMIT, torch.device("cpu"))
    torch.testing.assert_close(env.reset()[0], oracle.reset()[0], rtol=0, atol=1.2e-7)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(steps):
        action = torch.from_numpy(rng.integers(N_ACTIONS, size=len(seeds)))
        out, expected = env.step(action), oracle.step(action)
        kernels.assert_close(out, expected)
        ends += int((out.terminated | out.truncated).sum())
    assert ends > 0


def test_an_invalid_action_does_nothing_and_actors_step_as_if_alone():
    few = partial(on_kernels, HighwayConfig(vehicles_count=1, simulation_frequency=5))
    kernels.assert_invalid_actions_do_nothing(few, [1, 5, -1])
    kernels.assert_actors_step_as_alone(few)
