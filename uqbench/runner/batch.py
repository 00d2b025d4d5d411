"""Batches: runs that execute together, as lanes of one program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from uqbench.plan import Cell, Plan
from uqbench.run import DeviceKind, Run
from uqbench.suite import Budget, Metric

CPU_LANES = 5
"""Most lanes of a program on a CPU core: five take 15 % less time each than one, more no less."""
BATCHES_PER_WORKER = 4
"""With fewer batches than that, workers end at very different times."""


@dataclass(frozen=True)
class Batch:
    """All that a worker needs to execute some runs of one cell."""

    cell: Cell
    budget: Budget
    metrics: tuple[Metric, ...]
    device: DeviceKind

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, one a lane."""
        return self.cell.runs

    def of(self, runs: Sequence[Run]) -> Batch:
        """The batch with these runs of its cell; lanes are independent, so each is the same."""
        return replace(self, cell=replace(self.cell, runs=tuple(runs)))

    @property
    def name(self) -> str:
        """What progress calls the batch."""
        seeds = ",".join(str(run.seed) for run in self.runs)
        return f"{self.cell.task.name}/{self.cell.method.name}/{seeds}"

    @property
    def steps(self) -> int:
        """Environment steps of all its runs."""
        return self.budget.steps * len(self.runs)


def make_batches(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    workers: int,
    checkpoints: Mapping[Run, str] | None = None,
) -> list[Batch]:
    """Split the runs that are to do into batches, in the plan's order.

    On a GPU all seeds of a cell go together. On a CPU a batch is small, so that every worker has
    several. A method that owns its loop has one run a batch. Runs that share a checkpoint, named
    in ``checkpoints``, are a batch again, whatever the number of workers.
    """
    checkpoints = checkpoints or {}
    lanes = max(1, min(CPU_LANES, len(todo) // (BATCHES_PER_WORKER * workers)))
    batches = []
    for cell in plan.cells:
        groups: dict[str, list[Run]] = {}
        fresh = []
        for run in cell.runs:
            if run in todo and run in checkpoints:
                groups.setdefault(checkpoints[run], []).append(run)
            elif run in todo:
                fresh.append(run)
        size = 1 if cell.owns_loop else lanes if device == "cpu" else max(1, len(fresh))
        parts = [fresh[first : first + size] for first in range(0, len(fresh), size)]
        for runs in (*groups.values(), *parts):
            part = replace(cell, runs=tuple(runs))
            batches.append(Batch(part, plan.budget, plan.suite.metrics, device))
    return batches
