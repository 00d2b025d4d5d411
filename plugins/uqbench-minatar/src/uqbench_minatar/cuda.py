"""GPU kernels: one thread per lane."""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, untyped-decorator"

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda

from uqbench.lanes.kernels.cuda import CudaKernels
from uqbench_minatar.stepping import LaneArrays, Parameters


@cache
def compiled(game: Any) -> tuple[Any, Any]:
    """The two kernels of a game, a module of ``games``."""

    @cuda.jit
    def begin(_parameters: Parameters, lanes: LaneArrays) -> None:
        """Begin an episode in every lane."""
        lane = cuda.grid(1)
        if lane < len(lanes.action):
            game.begin_episode(lanes, lane)

    @cuda.jit
    def step(parameters: Parameters, lanes: LaneArrays) -> None:
        """Step every lane; an invalid action has no effect of its own."""
        lane = cuda.grid(1)
        if lane < len(lanes.action):
            game.step_lane(parameters, lanes, lane)

    return begin, step


def kernels(game: Any, parameters: Parameters, lanes: LaneArrays) -> CudaKernels:
    """The kernels of a game, a module of ``games``, on the memory of the tensors in ``lanes``."""
    return CudaKernels(*compiled(game), parameters, lanes)
