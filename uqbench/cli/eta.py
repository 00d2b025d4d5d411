"""How long a plan will take: from earlier runs where there are some, else the suite's figure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median

from uqbench.identity import Run
from uqbench.results.store import Store
from uqbench.suites.plan import Plan
from uqbench.suites.tables import Suite


@dataclass(frozen=True)
class Estimate:
    """Wall time in seconds, and what it rests on."""

    seconds: float
    basis: str


def estimate(plan: Plan, todo: Collection[Run], store: Store, workers: int) -> Estimate:
    """Estimate the wall time of some of a plan's runs on ``workers`` processes.

    A step takes what it took in earlier runs of the method on the task under the budget. Of other
    budgets' runs, whose gradient steps may be denser, it is how much longer than their nominal time
    they took.
    """
    slowness, saved = _earlier(plan.suite, store)
    core_seconds, timed = 0.0, 0
    for run in todo:
        by_budget = slowness.get((run.task, run.method, str(run.identity["device"])), {})
        others = [ratio for ratios in by_budget.values() for ratio in ratios]
        known = by_budget.get(plan.budget_name, others)
        timed += bool(known)
        step = plan.budget.step_ms / 1000 * (median(known) if known else 1.0)
        steps = plan.budget.task_steps.get(run.task, plan.budget.steps)
        core_seconds += (steps - saved.get(run.folder, 0)) * step
    nominal = f"a nominal {plan.budget.step_ms:g} ms a step"
    bases = {0: nominal, len(todo): "the speed of earlier runs"}
    basis = bases.get(timed, f"the speed of earlier runs and {nominal}")
    return Estimate(core_seconds / max(1, min(workers, len(todo))), basis)


Slowness = Mapping[tuple[str, str, str], Mapping[str, Sequence[float]]]
"""Measured over nominal time of a step, by (task, method, device) and budget."""


def _earlier(suite: Suite, store: Store) -> tuple[Slowness, Mapping[PurePosixPath, int]]:
    """What stored runs tell: their slowness, and the steps of unfinished ones that are saved."""
    slowness: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    saved: dict[PurePosixPath, int] = {}
    for folder, found in store.records(suite.name):
        record = found.record
        if record is not None and record.checkpoint is not None:
            saved[folder] = record.checkpoint.step
        _, budget, task, method, _ = folder.parts
        if record is not None and record.timing is not None and budget in suite.budgets:
            nominal = suite.budgets[budget].step_ms / 1000
            ratio = 1 / (record.timing.steps_per_s * nominal)
            of_cell = slowness.setdefault((task, method, str(record.identity.get("device"))), {})
            of_cell.setdefault(budget, []).append(ratio)
    return slowness, saved


def duration(seconds: float) -> str:
    """A time span for people: ``45 s``, ``7 min``, ``3.2 h``, ``12 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 72 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
