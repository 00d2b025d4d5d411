"""The CUDA kernels: in Numba's simulator, and on a GPU where there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import HighwayLanes

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def test_kernels_equal_the_package_in_the_simulator() -> None:
    tests = Path(__file__).with_name("simulated_cuda.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    simulating = {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **simulating})
    assert done.returncode == 0, done.stdout + done.stderr


@gpu
def test_a_gpu_gives_what_the_cpu_gives() -> None:
    """Sine and its like differ in the last digits; a road of 100,000 steps may part once."""
    seeds = list(range(100))
    env, expected = lanes("cuda", seeds), lanes("cpu", seeds)
    torch.testing.assert_close(env.reset()[0].cpu(), expected.reset()[0])
    parted = torch.zeros(100, dtype=torch.bool)
    for action in actions(1000, len(seeds)):
        out, wanted = env.step(action.cuda()), expected.step(action)
        parted |= ~torch.isclose(out.next_obs.cpu(), wanted.next_obs, atol=1e-6).all(1)
        parted |= out.terminated.cpu() != wanted.terminated
    assert parted.sum() <= 1


@gpu
def test_a_step_can_be_captured_in_a_cuda_graph() -> None:
    env, expected = lanes("cuda", [0, 1, 2]), lanes("cuda", [0, 1, 2])
    env.reset()
    action = torch.zeros(3, dtype=torch.int64, device="cuda")
    env.step(action)  # compiles
    env.reset()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outcome = env.step(action)
    expected.reset()
    for chosen in actions(300, 3):
        action.copy_(chosen)
        graph.replay()
        assert_same(outcome, expected.step(chosen.cuda()))


def lanes(device: str, seeds: list[int]) -> HighwayLanes:
    return HighwayLanes(HighwayConfig(), seeds, None, torch.device(device))


def actions(steps: int, n: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(N_ACTIONS, size=(steps, n)))


def assert_same(outcome: Any, expected: Any) -> None:
    for name in ("reward", "terminated", "truncated", "next_obs", "obs"):
        assert torch.equal(getattr(outcome, name), getattr(expected, name)), name
