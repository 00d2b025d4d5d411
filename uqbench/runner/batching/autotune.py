"""Autotuning of lanes per process and of processes: by the budget, a measurement, or a default.

This decides how long runs take, never what they compute: a lane's numbers do not depend on the
other lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from uqbench.identity import DeviceKind, Run
from uqbench.runner.batching.batches import CPU_LANES, Batch, default_lanes
from uqbench.runner.batching.speeds import MethodSpeed
from uqbench.runner.batching.throughput import Speed, measure_methods, measure_speeds
from uqbench.suites.plan import Cell, Plan

WORTH_FROM = {"eager": 600.0, "compiled": 3600.0}
"""Seconds that a plan must take for a measurement of lanes to pay, by numerics.

It takes some 15 s, and a minute with compiled updates, since every number of lanes is compiled.
"""
MACHINES = 64
"""Batches at once that lanes are chosen for, where nobody said how many there will be."""
METHODS_WORTH_FROM = {"eager": 180.0, "compiled": 3600.0}
"""The same for each method's speed: a second or two per method, compiled half a minute."""


@dataclass(frozen=True)
class Arrangement:
    """How runs are spread.

    Attributes:
        lanes: most runs of a batch on a CPU; ignored on a GPU, which takes as many as fit.
        processes: number of concurrent processes.
        measured_with: the cell whose steps were timed to choose them, with all ``speeds``; None if
            the budget or the default decided.
    """

    lanes: int
    processes: int
    measured_with: Cell | None = None
    speeds: tuple[Speed, ...] = ()


def measurable(plan: Plan, todo: Collection[Run]) -> list[Cell]:
    """A cell of each method whose steps can be timed, which is an agent written for lanes."""
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
    """Measure the methods whose speed is unknown, if the plan is long enough to pay for it.

    Args:
        plan: what was planned.
        todo: the runs to do.
        known: methods whose speed is known.
        device: where.
        processes: number of concurrent processes.
        alone_seconds: estimate of how long one process would take for the runs.
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
    """Choose lanes per process and processes: the budget's lanes, or measured where that pays.

    The method that will take most of the time is the one measured.

    Args:
        plan: what was planned.
        todo: the runs to do.
        device: where.
        workers: the processes that the user asked for; None for one per core, or one on a GPU.
        cores: that this process may use.
        seconds_by_method: how long one process would take for each method's runs.
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
    if not speeds:  # the method fails: so will its runs, with the reason
        return default
    best = fastest(speeds, len(todo))
    return Arrangement(best.lanes, best.processes, cell, tuple(speeds))


def elsewhere(plan: Plan, runs: int, workers: int | None) -> Arrangement:
    """The lanes of batches for other machines, which this one cannot measure.

    Args:
        plan: what was planned.
        runs: how many are to do.
        workers: batches to execute at once, as far as the user said.
    """
    at_once = workers or MACHINES
    even = -(-runs // at_once)  # each batch starts processes of its own: no more than are needed
    return Arrangement(plan.budget.lanes or max(1, min(CPU_LANES, even)), at_once)


def fastest(speeds: Sequence[Speed], runs: int) -> Speed:
    """The fastest of those that keep every process busy with ``runs`` runs to do."""
    useful = [speed for speed in speeds if speed.lanes * speed.processes <= max(runs, 1)]
    return max(useful or speeds[:1], key=lambda speed: speed.steps_per_s)
