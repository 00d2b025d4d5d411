"""GPU kernels: one thread per lane."""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, untyped-decorator"

from __future__ import annotations

from numba import cuda

from uqbench.lanes.kernels.cuda import CudaKernels
from uqbench_highway.stepping import LaneArrays, Parameters, begin_episode, step_lane


@cuda.jit
def _step(parameters: Parameters, lanes: LaneArrays) -> None:
    """Step every lane; an invalid action has no effect of its own."""
    lane = cuda.grid(1)
    if lane < len(lanes.action):
        step_lane(parameters, lanes, lane)


@cuda.jit
def _begin(parameters: Parameters, lanes: LaneArrays) -> None:
    """Begin an episode in every lane."""
    lane = cuda.grid(1)
    if lane < len(lanes.action):
        begin_episode(parameters, lanes, lane)


def kernels(parameters: Parameters, lanes: LaneArrays) -> CudaKernels:
    """The two kernels on the memory of the tensors in ``lanes``."""
    return CudaKernels(_begin, _step, parameters, lanes)
