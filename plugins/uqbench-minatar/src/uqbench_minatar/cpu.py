"""CPU kernels: compiled loops over the lanes."""

from __future__ import annotations

from functools import cache
from typing import Any

from uqbench.lanes.kernels import cpu
from uqbench_minatar.config import N_ACTIONS
from uqbench_minatar.stepping import LaneArrays, Parameters


@cache
def _loops(game: Any) -> tuple[Any, Any]:
    """The two loops of a game, a module of ``games``.

    What the loops close over is part of the key under which Numba caches them: a module is the
    same in every process, a compiled function is not.
    """

    @cpu.compiled_once("uqbench_minatar", f"_{game.__name__}")
    def begin(_parameters: Any, lanes: Any) -> None:
        """Begin an episode in every lane."""
        lanes = LaneArrays(*lanes)
        for lane in range(len(lanes.action)):
            game.begin_episode(lanes, lane)

    @cpu.compiled_once("uqbench_minatar", f"_{game.__name__}")
    def step(parameters: Any, lanes: Any) -> int:
        """Step all lanes; if an action is invalid, step none and return its lane, else −1."""
        parameters, lanes = Parameters(*parameters), LaneArrays(*lanes)
        for lane in range(len(lanes.action)):
            if not 0 <= lanes.action[lane] < N_ACTIONS:
                return lane
        for lane in range(len(lanes.action)):
            game.step_lane(parameters, lanes, lane)
        return -1

    return begin, step


def kernels(game: Any, parameters: Parameters, lanes: LaneArrays) -> cpu.CpuKernels:
    """The loops of a game, a module of ``games``, on the memory of the tensors in ``lanes``."""
    return cpu.CpuKernels(*_loops(game), parameters, lanes, N_ACTIONS)
