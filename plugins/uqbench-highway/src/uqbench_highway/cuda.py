"""The lanes on a GPU: a kernel with one thread a lane."""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, no-untyped-call, untyped-decorator"

from __future__ import annotations

import warnings
from typing import Any

import torch
from numba import cuda
from numba.core.errors import NumbaPerformanceWarning

from uqbench_highway.stepping import Lanes, Settings, begin_episode, step_lane

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
        self._arguments = settings, Lanes(*(_shared(tensor) for tensor in lanes))
        self._device = lanes.action.device
        self._blocks = -(-len(lanes.action) // THREADS)
        self._launchers: dict[int, tuple[Any, Any]] = {}

    def begin(self) -> None:
        """Begin an episode in all lanes."""
        begin, _ = self._on_current_stream()
        begin(*self._arguments)

    def step(self) -> None:
        """Step all lanes."""
        _, step = self._on_current_stream()
        step(*self._arguments)

    def _on_current_stream(self) -> tuple[Any, Any]:
        if self._device.type != "cuda":  # in the simulator
            return _begin[self._blocks, THREADS], _step[self._blocks, THREADS]
        handle = torch.cuda.current_stream(self._device).cuda_stream
        if handle not in self._launchers:
            stream = cuda.external_stream(handle)
            with warnings.catch_warnings(action="ignore", category=NumbaPerformanceWarning):
                self._launchers[handle] = (  # it warns of a GPU that has more processors than this
                    _begin[self._blocks, THREADS, stream],
                    _step[self._blocks, THREADS, stream],
                )
        return self._launchers[handle]


def _shared(tensor: torch.Tensor) -> Any:
    """The memory of a tensor; the simulator, which has no GPU, takes that of one on the CPU."""
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()
