"""CPU kernels: compiled loops over the lanes."""

from __future__ import annotations

from typing import Any

from uqbench.lanes.kernels import cpu
from uqbench_highway.config import N_ACTIONS
from uqbench_highway.stepping import LaneArrays, Parameters, begin_episode, step_lane


@cpu.compiled_once("uqbench_highway")
def _step(parameters: Any, lanes: Any) -> int:
    """Step all lanes; if an action is invalid, step none and return its lane, else return −1."""
    parameters, lanes = Parameters(*parameters), LaneArrays(*lanes)
    for lane in range(len(lanes.action)):
        if not 0 <= lanes.action[lane] < N_ACTIONS:
            return lane
    for lane in range(len(lanes.action)):
        step_lane(parameters, lanes, lane)
    return -1


@cpu.compiled_once("uqbench_highway")
def _begin(parameters: Any, lanes: Any) -> None:
    """Begin an episode in every lane."""
    parameters, lanes = Parameters(*parameters), LaneArrays(*lanes)
    for lane in range(len(lanes.action)):
        begin_episode(parameters, lanes, lane)


def kernels(parameters: Parameters, lanes: LaneArrays) -> cpu.CpuKernels:
    """The two loops on the memory of the tensors in ``lanes``."""
    return cpu.CpuKernels(_begin, _step, parameters, lanes, N_ACTIONS)
