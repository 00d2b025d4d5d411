"""How long a plan will take: from earlier runs where there are some, else the suite's figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median

from uqbench.plan import Plan
from uqbench.results.store import Store
from uqbench.run import Run


@dataclass(frozen=True)
class Estimate:
    """Wall time in seconds, and what it rests on."""

    seconds: float
    basis: str


def estimate(plan: Plan, todo: Collection[Run], store: Store, workers: int) -> Estimate:
    """Estimate the wall time of some of a plan's runs on ``workers`` processes."""
    speeds: dict[tuple[str, str, str], list[float]] = {}
    saved: dict[PurePosixPath, int] = {}
    for folder, found in store.records(plan.suite.name):
        if found.record is not None and found.record.checkpoint is not None:
            saved[folder] = found.record.checkpoint.step
        if found.record is not None and found.record.timing is not None:
            _, _, task, method, _ = folder.parts
            key = (task, method, str(found.record.identity.get("device")))
            speeds.setdefault(key, []).append(found.record.timing.steps_per_s)
    core_seconds, timed = 0.0, 0
    for run in todo:
        known = speeds.get((run.task, run.method, str(run.identity["device"])))
        timed += known is not None
        step = 1 / median(known) if known else plan.budget.step_ms / 1000
        steps = plan.budget.task_steps.get(run.task, plan.budget.steps)
        core_seconds += (steps - saved.get(run.folder, 0)) * step
    nominal = f"a nominal {plan.budget.step_ms:g} ms a step"
    bases = {0: nominal, len(todo): "the speed of earlier runs"}
    basis = bases.get(timed, f"the speed of earlier runs and {nominal}")
    return Estimate(core_seconds / max(1, min(workers, len(todo))), basis)


def duration(seconds: float) -> str:
    """A time span for people: ``45 s``, ``7 min``, ``3.2 h``, ``12 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 72 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
