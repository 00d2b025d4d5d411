"""GPU kernels: one thread per lane."""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, no-untyped-call"

import warnings
from collections.abc import Callable
from typing import Any

import torch
from numba import cuda
from numba.core.errors import NumbaPerformanceWarning

THREADS = 32  # per block; few, because lanes are few and a GPU has many processors


class CudaKernels:
    """Kernels over the lanes, in the memory of the tensors in ``lanes``.

    They are launched on PyTorch's current stream and read everything from the device, so that
    after a first launch, further ones can be captured in a CUDA graph.

    Args:
        begin: kernel of (parameters, arrays) that begins an episode in its thread's lane.
        step: kernel that steps its thread's lane; an invalid action does nothing.
        parameters: a named tuple of numbers that all lanes share.
        lanes: a named tuple of tensors, ``action`` among them, ``[L]``.
    """

    def __init__(self, begin: Any, step: Any, parameters: Any, lanes: Any) -> None:
        self._kernels = begin, step
        self._arguments = parameters, type(lanes)(*(_shared(tensor) for tensor in lanes))
        self._device = lanes.action.device
        self._blocks = -(-len(lanes.action) // THREADS)
        self._launchers: dict[int, list[Callable[..., None]]] = {}

    def begin(self) -> None:
        """Begin an episode in every lane."""
        self._on_current_stream()[0](*self._arguments)

    def step(self) -> None:
        """Step all lanes."""
        self._on_current_stream()[1](*self._arguments)

    def _on_current_stream(self) -> list[Callable[..., None]]:
        if self._device.type != "cuda":  # in the simulator
            return [kernel[self._blocks, THREADS] for kernel in self._kernels]
        handle = torch.cuda.current_stream(self._device).cuda_stream
        if handle not in self._launchers:
            stream = cuda.external_stream(handle)
            with warnings.catch_warnings(action="ignore", category=NumbaPerformanceWarning):
                # it warns that the GPU has more processors than blocks
                launchers = [kernel[self._blocks, THREADS, stream] for kernel in self._kernels]
            self._launchers[handle] = launchers
        return self._launchers[handle]


def _shared(tensor: torch.Tensor) -> Any:
    """A tensor's memory; the simulator, which has no GPU, uses CPU memory."""
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()
