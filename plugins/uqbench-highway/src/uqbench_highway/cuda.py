"""The lanes on a GPU: a kernel with one thread a lane."""

# numba.cuda has no types:
# mypy: disable-error-code="attr-defined, untyped-decorator"

from __future__ import annotations

from numba import cuda

from uqbench.kernels.cuda import Program
from uqbench_highway.stepping import Lanes, Settings, begin_episode, step_lane


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


def program(settings: Settings, lanes: Lanes) -> Program:
    """The two kernels, on the arrays that the tensors of ``lanes`` share."""
    return Program(_begin, _step, settings, lanes)
