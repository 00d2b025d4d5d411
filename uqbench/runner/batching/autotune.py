"""How many lanes a process and how many processes: the budget says, a measurement, or a default.

It decides how long runs take, never what they compute: a lane's numbers do not depend on the lanes
beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from uqbench.identity import DeviceKind, Run
from uqbench.runner.batching.batches import Batch, default_lanes
from uqbench.runner.batching.speeds import MethodSpeed
from uqbench.runner.batching.throughput import Speed, measure_methods, measure_speeds
from uqbench.suites.plan import Cell, Plan

WORTH_FROM = {"eager": 600.0, "compiled": 3600.0}
"""Seconds that a plan takes at least for lanes to be measured, by numerics.

It takes some 15 s, with compiled updates a minute, since every number of lanes is compiled.
"""
METHODS_WORTH_FROM = {"eager": 180.0, "compiled": 3600.0}
"""Likewise for each method's speed: a second or two a method, with compiled updates half a minute.
"""


@dataclass(frozen=True)
class Arrangement:
    """How runs are spread.

    Attributes:
        lanes: most runs of a batch on a CPU; a GPU takes as many as fit, whatever stands here.
        processes: that work at once.
        measured_with: whose steps were timed to choose them, with all ``speeds``; None where the
            budget or the default says.
    """

    lanes: int
    processes: int
    measured_with: Cell | None = None
    speeds: tuple[Speed, ...] = ()


def measurable(plan: Plan, todo: Collection[Run]) -> list[Cell]:
    """A cell of each method whose steps can be timed: agents that are written for lanes."""
    first: dict[str, Cell] = {}
    for cell in plan.cells:
        if cell.method.agent and not cell.owns_loop and any(run in todo for run in cell.runs):
            first.setdefault(cell.method.name, cell)
    return list(first.values())


def method_speeds(
    plan: Plan,
    todo: Collection[Run],
    known: Collection[str],
    device: DeviceKind,
    processes: int,
    alone_seconds: float,
) -> list[tuple[Cell, MethodSpeed]]:
    """Measure the methods that are not known, if the plan is long enough for it.

    Args:
        plan: what was planned.
        todo: the runs to do.
        known: methods whose speed is known.
        device: where.
        processes: that will work at once.
        alone_seconds: how long the runs would take one process, so far as is known.
    """
    if device == "cuda" or alone_seconds / processes < METHODS_WORTH_FROM[plan.budget.numerics]:
        return []
    lanes = plan.budget.lanes or default_lanes(len(todo), processes)
    batches = [
        Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, device).of(cell.runs[:lanes])
        for cell in measurable(plan, todo)
        if cell.method.name not in known
    ]
    return list(measure_methods(batches, processes))


def arrange(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    workers: int | None,
    cores: int,
    seconds_by_method: Mapping[str, float],
) -> Arrangement:
    """Choose lanes and processes: the budget's lanes, or measured where that is worth its time.

    What is measured is the method that will take most of the time.

    Args:
        plan: what was planned.
        todo: the runs to do.
        device: where.
        workers: the processes that the user asked for; None for one a core, one on a GPU.
        cores: that this process may use.
        seconds_by_method: how long each method's runs would take one process.
    """
    if device == "cuda":
        return Arrangement(1, workers or 1)
    processes = workers or cores
    if plan.budget.lanes is not None:
        return Arrangement(plan.budget.lanes, processes)
    default = Arrangement(default_lanes(len(todo), processes), processes)
    cells = measurable(plan, todo)
    seconds = sum(seconds_by_method.values())
    if not cells or seconds / processes < WORTH_FROM[plan.budget.numerics]:
        return default
    cell = max(cells, key=lambda cell: seconds_by_method.get(cell.method.name, 0.0))
    batch = Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, device)
    speeds = measure_speeds(batch, processes)
    if workers:
        speeds = [speed for speed in speeds if speed.processes == workers]
    if not speeds:  # the method fails: so will its runs, and they tell why
        return default
    best = fastest(speeds, len(todo))
    return Arrangement(best.lanes, best.processes, cell, tuple(speeds))


def fastest(speeds: Sequence[Speed], runs: int) -> Speed:
    """The fastest of those that give every process something to do, with ``runs`` to be done."""
    useful = [speed for speed in speeds if speed.lanes * speed.processes <= max(runs, 1)]
    return max(useful or speeds[:1], key=lambda speed: speed.steps_per_s)
