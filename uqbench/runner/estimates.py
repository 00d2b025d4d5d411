"""How long a plan will take: the time of a step of each method here, summed over its runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from statistics import median

from uqbench.identity import Run
from uqbench.results.store import Store
from uqbench.runner.batching.speeds import MethodSpeed
from uqbench.runner.checkpoints.saved import saved_step
from uqbench.runner.pace import Pace
from uqbench.suites.plan import Plan
from uqbench.suites.suite import Suite


@dataclass(frozen=True)
class Estimate:
    """Wall time in seconds, and the basis of the estimate.

    Attributes:
        seconds: until all is done, with all processes at work.
        basis: in words.
        core_seconds: of each run to do, from where it resumes.
        paces: how these are spread over its steps.
    """

    seconds: float
    basis: str
    core_seconds: Mapping[Run, float] = field(default_factory=dict)
    paces: Mapping[Run, Pace] = field(default_factory=dict)

    def by_method(self) -> dict[str, float]:
        """Core seconds by method, the slowest first."""
        total: dict[str, float] = {}
        for run, seconds in self.core_seconds.items():
            total[run.method] = total.get(run.method, 0.0) + seconds
        return dict(sorted(total.items(), key=lambda item: -item[1]))


def estimate(
    plan: Plan,
    todo: Collection[Run],
    store: Store,
    workers: int,
    measured: Mapping[str, MethodSpeed] | None = None,
) -> Estimate:
    """Estimate the wall time of some of a plan's runs on ``workers`` processes.

    The mean time of a step is that of earlier runs of the method on the task under the budget;
    without any, it follows from what a step and a gradient step were measured to take on this
    machine; else it is the nominal time, times the ratio of actual to nominal time in other
    budgets' runs, whose gradient steps may be denser; else the nominal time.

    Args:
        plan: what was planned.
        todo: the runs to do.
        store: holds earlier runs.
        workers: processes.
        measured: speeds by method.
    """
    if not todo:
        return Estimate(0.0, "")
    slowness, saved = _earlier(plan.suite, store)
    configs = {(cell.task.name, cell.method.name): cell.config for cell in plan.cells}
    core_seconds: dict[Run, float] = {}
    paces: dict[Run, Pace] = {}
    bases = {"earlier runs": 0, "a measurement": 0, "runs of other budgets": 0, "nominal": 0}
    for run in todo:
        by_budget = slowness.get((run.task, run.method, str(run.identity["device"])), {})
        others = [ratio for ratios in by_budget.values() for ratio in ratios]
        nominal = plan.budget.step_ms / 1000
        steps = plan.budget.task_steps.get(run.task, plan.budget.steps)
        config = configs.get((run.task, run.method))
        start = 0.0
        if own := by_budget.get(plan.budget_name):
            bases["earlier runs"] += 1
            pace = Pace.on_average(nominal * median(own), steps, config)
        elif speed := (measured or {}).get(run.method):
            bases["a measurement"] += 1
            pace = pace_of(speed, config)
            start = speed.start_s / speed.lanes
        elif others:
            bases["runs of other budgets"] += 1
            pace = Pace.on_average(nominal * median(others), steps, config)
        else:
            bases["nominal"] += 1
            pace = Pace.on_average(nominal, steps, config)
        core_seconds[run] = start + pace.seconds(saved.get(run.folder, 0), steps)
        paces[run] = pace
    words = {"nominal": f"a nominal {plan.budget.step_ms:g} ms a step"}
    basis = " and ".join(words.get(name, f"the speed of {name}") for name, n in bases.items() if n)
    basis = basis.replace("the speed of a measurement", "what a step of each method takes here")
    processes = max(1, min(workers, len(todo)))
    return Estimate(sum(core_seconds.values()) / processes, basis, core_seconds, paces)


def pace_of(speed: MethodSpeed, config: object) -> Pace:
    """What the steps of a run take that is as fast as was measured."""
    return Pace.measured(speed.step_ms / 1000, speed.gradient_step_ms / 1000, config)


Slowness = Mapping[tuple[str, str, str], Mapping[str, Sequence[float]]]
"""Ratio of measured to nominal time of a step, by (task, method, device) and budget."""


def _earlier(suite: Suite, store: Store) -> tuple[Slowness, Mapping[PurePosixPath, int]]:
    """From stored runs: their slowness, and the checkpointed steps of unfinished ones."""
    slowness: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    saved: dict[PurePosixPath, int] = {}
    for folder, found in store.records(suite.name):
        record = found.record
        if record is not None and record.checkpoint is not None:
            saved[folder] = saved_step(record, store) or 0
        if record is None or record.timing is None:
            continue
        _, budget, task, method, _ = folder.parts
        if budget in suite.budgets:
            nominal = suite.budgets[budget].step_ms / 1000
            ratio = 1 / (record.timing.steps_per_s * nominal)
            of_cell = slowness.setdefault((task, method, str(record.identity.get("device"))), {})
            of_cell.setdefault(budget, []).append(ratio)
    return slowness, saved
