"""The CUDA kernels: in Numba's simulator, and on a GPU where there is one."""

from pathlib import Path

import kernels
import numpy as np
import pytest
import torch
from kernels import gpu
from uqbench_minatar.config import GAMES, N_ACTIONS, GameConfig
from uqbench_minatar.lanes import MinAtarLanes


def test_kernels_equal_the_package_in_the_simulator() -> None:
    kernels.simulate(Path(__file__).with_name("simulated_cuda.py"))


@gpu
@pytest.mark.parametrize("game", GAMES)
def test_a_gpu_gives_what_the_cpu_gives(game: str) -> None:
    seeds = list(range(100))
    env, expected = lanes(game, "cuda", seeds), lanes(game, "cpu", seeds)
    assert torch.equal(env.reset()[0].cpu(), expected.reset()[0])
    for action in actions(2000, len(seeds)):
        kernels.assert_same(env.step(action.cuda()), expected.step(action))
    for name, value in expected.state_dict().items():
        assert torch.equal(env.state_dict()[name].cpu().view(torch.uint8), value.view(torch.uint8))


@gpu
@pytest.mark.parametrize("game", GAMES)
def test_a_step_can_be_captured_in_a_cuda_graph(game: str) -> None:
    env, expected = (lanes(game, "cuda", [0, 1, 2]) for _ in range(2))
    kernels.assert_captured_steps_are_the_same(env, expected, actions(300, 3))


def lanes(game: str, device: str, seeds: list[int]) -> MinAtarLanes:
    return MinAtarLanes(GameConfig(game=game), seeds, None, torch.device(device))


def actions(steps: int, n: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(N_ACTIONS, size=(steps, n)))
