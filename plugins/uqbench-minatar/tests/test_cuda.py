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
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def test_kernels_equal_the_package_in_the_simulator() -> None:
    tests = Path(__file__).with_name("simulated_cuda.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    simulating = {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **simulating})
    assert done.returncode == 0, done.stdout + done.stderr


@gpu
@pytest.mark.parametrize("game", GAMES)
def test_a_gpu_gives_what_the_cpu_gives(game: str) -> None:
    seeds = list(range(100))
    env, expected = lanes(game, "cuda", seeds), lanes(game, "cpu", seeds)
    assert torch.equal(env.reset()[0].cpu(), expected.reset()[0])
    for action in actions(2000, len(seeds)):
        assert_same(env.step(action.cuda()), expected.step(action))
    for name, value in expected.state_dict().items():
        assert torch.equal(env.state_dict()[name].cpu().view(torch.uint8), value.view(torch.uint8))


@gpu
@pytest.mark.parametrize("game", GAMES)
def test_a_step_can_be_captured_in_a_cuda_graph(game: str) -> None:
    env, expected = lanes(game, "cuda", [0, 1, 2]), lanes(game, "cpu", [0, 1, 2])
    env.reset()
    env.step(torch.zeros(3, dtype=torch.int64, device="cuda"))  # compiles
    env.reset()
    action = torch.zeros(3, dtype=torch.int64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outcome = env.step(action)
    expected.reset()
    for chosen in actions(300, 3):
        action.copy_(chosen)
        graph.replay()
        assert_same(outcome, expected.step(chosen))


def lanes(game: str, device: str, seeds: list[int]) -> MinAtarLanes:
    return MinAtarLanes(GameConfig(game=game), seeds, None, torch.device(device))


def actions(steps: int, n: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(N_ACTIONS, size=(steps, n)))


def assert_same(outcome: Any, expected: Any) -> None:
    for name in ("reward", "terminated", "truncated", "next_obs", "obs"):
        assert torch.equal(getattr(outcome, name).cpu(), getattr(expected, name)), name
