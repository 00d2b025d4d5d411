"""Methods are measured and runs spread over lanes and processes; the user is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection

from uqbench.identity import DeviceKind, Run
from uqbench.results.store import Store
from uqbench.runner.batching.autotune import Arrangement, arrange, method_speeds
from uqbench.runner.batching.speeds import Speeds
from uqbench.runner.estimates import Estimate, estimate, pace_of
from uqbench.runner.watcher import Watcher
from uqbench.suites.plan import Plan


def measure_methods(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    processes: int,
    store: Store,
    speeds: Speeds,
    watcher: Watcher,
) -> None:
    """Measure the speed of methods where it is unknown and the plan is long."""
    known = speeds.of(plan)
    alone = estimate(plan, todo, store, 1, known)
    found = method_speeds(plan, todo, known, device, processes, alone.seconds)
    if not found:
        return
    speeds.add(plan, found)
    steps = plan.budget.steps
    means = {
        cell.method.name: pace_of(speed, cell.config).seconds(0, steps) * 1000 / steps
        for cell, speed in found
    }
    table = ", ".join(f"{method} {ms:.2g}" for method, ms in means.items())
    watcher.say(f"Milliseconds a step, measured here: {table}.")


def spread(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    workers: int | None,
    alone: Estimate,
    watcher: Watcher,
) -> Arrangement:
    """Choose lanes and processes; say so if they were measured."""
    chosen = arrange(plan, todo, device, workers, cores(), alone.by_method())
    if chosen.measured_with is not None:
        cell, speeds = chosen.measured_with, chosen.speeds
        table = ", ".join(f"{s.lanes} × {s.processes}: {s.steps_per_s:,.0f}" for s in speeds)
        watcher.say(
            f"Lanes × processes: {chosen.lanes} × {chosen.processes}, the fastest of steps/s "
            f"measured with {cell.method.name} on {cell.task.name} ({table})."
        )
    return chosen


def cores() -> int:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
