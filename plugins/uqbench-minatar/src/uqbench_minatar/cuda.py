"""The lanes on a GPU: a kernel with one thread a lane."""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, no-untyped-call, untyped-decorator"

from __future__ import annotations

from typing import Any

import torch
from numba import cuda

from uqbench_minatar.stepping import Lanes, Settings, begin_episode, step_lane

THREADS = 32  # a block; few, because lanes are few and a GPU has many processors


@cuda.jit
def _step(settings: Settings, lanes: Lanes) -> None:
    """Step all lanes; an invalid action does nothing."""
    lane = cuda.grid(1)
    if lane < len(lanes.action):
        step_lane(settings, lanes, lane)


@cuda.jit
def _begin(settings: Settings, lanes: Lanes) -> None:
    """Begin an episode in all lanes."""
    lane = cuda.grid(1)
    if lane < len(lanes.action):
        begin_episode(settings, lanes, lane)


class Program:
    """The two kernels, on the arrays that the tensors of ``lanes`` share.

    They are launched on PyTorch's current stream and read everything from the device, so a launch
    can be captured in a CUDA graph, after one that was not.
    """

    def __init__(self, settings: Settings, lanes: Lanes) -> None:
        self._settings = settings
        self._arrays = Lanes(*(_shared(tensor) for tensor in lanes))
        self._blocks = -(-len(lanes.action) // THREADS)

    def begin(self) -> None:
        """Begin an episode in all lanes."""
        _begin[self._blocks, THREADS, _stream()](self._settings, self._arrays)

    def step(self) -> None:
        """Step all lanes."""
        _step[self._blocks, THREADS, _stream()](self._settings, self._arrays)


def _shared(tensor: torch.Tensor) -> Any:
    """The memory of a tensor; the simulator, which has no GPU, takes that of one on the CPU."""
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def _stream() -> Any:
    """PyTorch's current stream; 0 in the simulator."""
    if not torch.cuda.is_available():
        return 0
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream)
