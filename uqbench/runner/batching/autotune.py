"""How many lanes a process and how many processes: the budget says, a measurement, or a default.

It decides how long runs take, never what they compute: a lane's numbers do not depend on the lanes
beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from uqbench.identity import DeviceKind, Run
from uqbench.runner.batching.batches import Batch, default_lanes
from uqbench.runner.batching.throughput import Speed, measure_speeds
from uqbench.suites.plan import Cell, Plan

WORTH_FROM = {"eager": 600.0, "compiled": 3600.0}
"""Seconds that a plan takes at least for a measurement to be worth its time, by numerics.

It takes some 15 s, with compiled updates a minute, since every number of lanes is compiled.
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


def arrange(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    workers: int | None,
    cores: int,
    alone_seconds: float,
) -> Arrangement:
    """Choose lanes and processes: the budget's lanes, or measured where that is worth its time.

    Args:
        plan: what was planned.
        todo: the runs to do.
        device: where.
        workers: the processes that the user asked for; None for one a core, one on a GPU.
        cores: that this process may use.
        alone_seconds: how long the runs would take one process.
    """
    if device == "cuda":
        return Arrangement(1, workers or 1)
    processes = workers or cores
    if plan.budget.lanes is not None:
        return Arrangement(plan.budget.lanes, processes)
    default = Arrangement(default_lanes(len(todo), processes), processes)
    cell = next((c for c in plan.cells if c.method.agent and not c.owns_loop), None)
    if cell is None or alone_seconds / processes < WORTH_FROM[plan.budget.numerics]:
        return default
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
