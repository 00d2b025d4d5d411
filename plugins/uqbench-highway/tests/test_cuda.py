"""The CUDA kernels: in Numba's simulator, and on a GPU where there is one."""

from pathlib import Path

import kernels
import numpy as np
import torch
from kernels import gpu
from uqbench_highway.config import N_ACTIONS, HighwayConfig
from uqbench_highway.lanes import HighwayLanes


def test_kernels_equal_the_package_in_the_simulator():
    kernels.simulate(Path(__file__).with_name("simulated_cuda.py"))


@gpu
def test_a_gpu_gives_what_the_cpu_gives():
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
def test_a_step_can_be_captured_in_a_cuda_graph():
    env, expected = (lanes("cuda", [0, 1, 2]) for _ in range(2))
    kernels.assert_captured_steps_are_the_same(env, expected, actions(300, 3))


def lanes(device: str, seeds: list[int]) -> HighwayLanes:
    return HighwayLanes(HighwayConfig(), seeds, None, torch.device(device))


def actions(steps: int, n: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(N_ACTIONS, size=(steps, n)))
