"""The lanes on the CPU: a compiled loop."""

from __future__ import annotations

from typing import Any

from uqbench.kernels import cpu
from uqbench_highway.options import N_ACTIONS
from uqbench_highway.stepping import Lanes, Settings, begin_episode, step_lane


@cpu.compiled_once("uqbench_highway")
def _step(settings: Any, lanes: Any) -> int:
    """Step all lanes, or none where an action is invalid: the lane with that action, else -1."""
    settings, lanes = Settings(*settings), Lanes(*lanes)
    for lane in range(len(lanes.action)):
        if not 0 <= lanes.action[lane] < N_ACTIONS:
            return lane
    for lane in range(len(lanes.action)):
        step_lane(settings, lanes, lane)
    return -1


@cpu.compiled_once("uqbench_highway")
def _begin(settings: Any, lanes: Any) -> None:
    """Begin an episode in all lanes."""
    settings, lanes = Settings(*settings), Lanes(*lanes)
    for lane in range(len(lanes.action)):
        begin_episode(settings, lanes, lane)


def program(settings: Settings, lanes: Lanes) -> cpu.Program:
    """The two loops, on the arrays that the tensors of ``lanes`` share."""
    return cpu.Program(_begin, _step, settings, lanes, N_ACTIONS)
