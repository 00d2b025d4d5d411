"""The CUDA kernels equal the package: in Numba's simulator, which is pure Python.

    NUMBA_DISABLE_JIT=1 NUMBA_ENABLE_CUDASIM=1 python -m pytest tests/simulated_cuda.py

It needs no GPU; test_cuda.py runs it.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from uqbench_highway import cuda
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.environment import make
from uqbench_highway.lanes import HighwayLanes

from uqbench.environment import TimeLimit
from uqbench.runner.train.loop import by_actor

SEEDS = list(range(34))  # two blocks of threads, the second not full
LIMIT = TimeLimit(2, "truncation")


@pytest.fixture(autouse=True)
def _simulated() -> None:
    assert numba.config.ENABLE_CUDASIM
    assert numba.config.DISABLE_JIT


def on_kernels(config: HighwayConfig, seeds: list[int]) -> HighwayLanes:
    """Lanes in the CPU's memory that the simulated kernels step."""
    env = HighwayLanes(config, seeds, LIMIT)
    env.kernels = cuda.kernels(env._parameters, env.arrays)
    return env


@pytest.mark.parametrize(("seeds", "vehicles", "steps"), [(SEEDS[:2], 3, 3), (SEEDS, 1, 2)])
def test_kernels_equal_the_package(seeds: list[int], vehicles: int, steps: int) -> None:
    config = {"lanes_count": 3, "vehicles_count": vehicles, "simulation_frequency": 5}
    env = on_kernels(HighwayConfig(**config), seeds)
    oracle = make(HighwayConfig(**config, backend="oracle"), seeds, LIMIT, torch.device("cpu"))
    torch.testing.assert_close(env.reset()[0], oracle.reset()[0], rtol=0, atol=1.2e-7)
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(steps):
        action = torch.from_numpy(rng.integers(N_ACTIONS, size=len(seeds)))
        out, expected = env.step(action), oracle.step(action)
        for name in ("reward", "next_obs", "obs"):
            given, wanted = getattr(out, name), getattr(expected, name)
            torch.testing.assert_close(given, wanted, rtol=0, atol=1.2e-7, msg=name)
        assert torch.equal(out.terminated, expected.terminated)
        assert torch.equal(out.truncated, expected.truncated)
        assert torch.equal(out.events["crashes"], expected.events["crashes"])
        ends += int((out.terminated | out.truncated).sum())
    assert ends > 0


def test_an_invalid_action_does_nothing() -> None:
    obs = []
    for action in (1, 5, -1):
        env = on_kernels(HighwayConfig(vehicles_count=1, simulation_frequency=5), [0])
        env.reset()
        obs.append(env.step(torch.tensor([action])).obs.numpy().tobytes())
    assert len(set(obs)) == 1


def test_actors_of_runs_step_in_one_kernel_each_as_if_alone() -> None:
    """Two runs of three actors; the second of the second run."""
    seeds = [1, 2, 3, 11, 12, 13]
    config = HighwayConfig(vehicles_count=1, simulation_frequency=5)
    together, alone = on_kernels(config, seeds), on_kernels(config, seeds[4:5])
    assert torch.equal(by_actor(together.reset()[0], 3)[1, 1], alone.reset()[0][0])
    for t in range(8):
        action = torch.arange(6) % 3 + t % 2
        out, own = together.step(action), alone.step(action[4:5])
        for name in ("reward", "terminated", "truncated", "next_obs", "obs"):
            assert torch.equal(by_actor(getattr(out, name), 3)[1, 1], getattr(own, name)[0]), name
