"""CUDA kernels of lanes: in Numba's simulator, which is pure Python, and captured on a GPU."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numba
import pytest
import torch
from torch import Tensor

from uqbench.runner.train.loop import by_actor

NAMES = ("reward", "terminated", "truncated", "next_obs", "obs")
"""Of an outcome's tensors."""
gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def simulate(tests: Path) -> None:
    """Run a file of tests in a process whose kernels are simulated."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    simulating = {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **simulating})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def simulated() -> None:
    """The simulator is on."""
    assert numba.config.ENABLE_CUDASIM
    assert numba.config.DISABLE_JIT


def assert_same(outcome: Any, expected: Any) -> None:
    """Outcomes are equal, bit for bit, on any devices."""
    for name in NAMES:
        assert torch.equal(getattr(outcome, name).cpu(), getattr(expected, name).cpu()), name


def assert_close(outcome: Any, expected: Any) -> None:
    """Outcomes are equal to the last digits of sine and power; their ends and crashes exactly."""
    for name in ("reward", "next_obs", "obs"):
        given, wanted = getattr(outcome, name), getattr(expected, name)
        torch.testing.assert_close(given, wanted, rtol=0, atol=1.2e-7, msg=name)
    for name in ("terminated", "truncated"):
        assert torch.equal(getattr(outcome, name), getattr(expected, name)), name
    assert torch.equal(outcome.events["crashes"], expected.events["crashes"])


def assert_invalid_actions_do_nothing(make: Callable[[list[int]], Any], actions: list[int]) -> None:
    """All of these lead to the same observation."""
    obs = []
    for action in actions:
        env = make([0])
        env.reset()
        obs.append(env.step(torch.tensor([action])).obs.numpy().tobytes())
    assert len(set(obs)) == 1


def assert_actors_step_as_alone(make: Callable[[list[int]], Any]) -> None:
    """Of two runs of three actors in one kernel the second actor of the second."""
    seeds = [1, 2, 3, 11, 12, 13]
    together, alone = make(seeds), make(seeds[4:5])
    assert torch.equal(by_actor(together.reset()[0], 3)[1, 1], alone.reset()[0][0])
    for t in range(8):
        action = torch.arange(6) % 3 + t % 2
        out, own = together.step(action), alone.step(action[4:5])
        for name in NAMES:
            assert torch.equal(by_actor(getattr(out, name), 3)[1, 1], getattr(own, name)[0]), name


def assert_captured_steps_are_the_same(env: Any, expected: Any, actions: Iterable[Tensor]) -> None:
    """A CUDA graph of three lanes' step, replayed, gives what lanes of the GPU give."""
    action = torch.zeros(3, dtype=torch.int64, device="cuda")
    env.reset()
    env.step(action)  # compiles
    env.reset()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outcome = env.step(action)
    expected.reset()
    for chosen in actions:
        action.copy_(chosen)
        graph.replay()
        assert_same(outcome, expected.step(chosen.cuda()))
