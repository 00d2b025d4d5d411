"""Runs that execute together: as lanes of a batch, and batches as a group."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uqbench.contract.identity import DeviceKind, Run
from uqbench.contract.wording import spans
from uqbench.registry.plugins import Host
from uqbench.registry.registry import Plugin, Registry
from uqbench.suites.metrics import Metric
from uqbench.suites.plan import Cell, Plan, Stage
from uqbench.suites.tables import Budget

CPU_LANES = 5
"""Most lanes of a batch on a CPU core by default: more are not faster per lane."""
GPU_LANES = 64
"""Most lanes of a group on a GPU: its memory holds five games with ten seeds each."""
BATCHES_PER_WORKER = 4
"""With fewer batches than this, workers end at very different times."""
MACHINES = 64
"""Batches at once that lanes are chosen for, where nobody said how many there will be."""


@dataclass(frozen=True)
class Batch:
    """All that a worker needs to execute some runs of one cell.

    Attributes:
        beside: batches of other tasks, alike in all else, whose lanes follow (:func:`joined`).
    """

    cell: Cell
    budget: Budget
    metrics: tuple[Metric, ...]
    device: DeviceKind
    keep_agents: bool = False
    stage: Stage | None = None
    beside: tuple[Batch, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs, one per lane, those of a task together."""
        return tuple(run for part in (self, *self.beside) for run in part.cell.runs)

    @property
    def parts(self) -> tuple[Batch, ...]:
        """The batch of each task."""
        return replace(self, beside=()), *self.beside

    def of(self, runs: Sequence[Run]) -> Batch:
        """The batch with these runs of its cells; lanes are independent, so no run changes."""
        own = [tuple(r for r in runs if r.task == part.cell.task.name) for part in self.parts]
        parts = [
            replace(part, cell=replace(part.cell, runs=of_task))
            for part, of_task in zip(self.parts, own, strict=True)
            if of_task
        ]
        return replace(parts[0], beside=tuple(parts[1:]))

    @property
    def name(self) -> str:
        """The batch's name in progress messages."""
        seeds = spans(run.seed for run in self.runs)
        return f"{self.cell.task.name}/{self.cell.method.name}/{seeds}"

    @property
    def steps(self) -> int:
        """Environment steps of all its runs."""
        return self.budget.steps * len(self.runs)


BatchGroup = tuple[Batch, ...]
"""Batches of one process whose steps are interleaved: on a GPU, a method's tasks."""


def make_batch_groups(
    plan: Plan,
    todo: Collection[Run],
    device: DeviceKind,
    lanes: int,
    checkpoints: Mapping[Run, str] | None = None,
) -> list[BatchGroup]:
    """Split the runs to do into groups, in the plan's order.

    On a CPU a group is a batch of at most ``lanes`` runs of a cell. On a GPU all runs of a cell
    are a batch, and a method's tasks, whose observations differ in shape, a group. A method that
    owns its loop has one run per batch. Runs that share a checkpoint, named in ``checkpoints``,
    form a batch again.

    Args:
        plan: what was planned.
        todo: the runs to do.
        device: where.
        lanes: most runs of a batch on a CPU.
        checkpoints: the checkpoint that a run names, by run.
    """
    checkpoints = checkpoints or {}
    batches: list[Batch] = []
    for cell in plan.cells:
        resumed: dict[str, list[Run]] = {}
        new = []
        for run in cell.runs:
            if run in todo and run in checkpoints:
                resumed.setdefault(checkpoints[run], []).append(run)
            elif run in todo:
                new.append(run)
        size = 1 if cell.owns_loop else lanes if device == "cpu" else GPU_LANES
        parts = [new[first : first + size] for first in range(0, len(new), size)]
        budget = plan.budget.on(cell.task)
        whole = Batch(cell, budget, plan.suite.metrics, device, plan.keep_agents, plan.stage)
        batches += [whole.of(runs) for runs in (*resumed.values(), *parts)]
    return [(batch,) for batch in batches] if device == "cpu" else _interleaved(batches)


def _interleaved(batches: Sequence[Batch]) -> list[BatchGroup]:
    """Consecutive batches of one method, as many as a GPU takes; a method's own loop is alone."""
    groups: list[BatchGroup] = []
    for method in dict.fromkeys(batch.cell.method.name for batch in batches):
        for batch in (batch for batch in batches if batch.cell.method.name == method):
            last = groups[-1] if groups else ()
            joins = last and last[0].cell.method.name == method and not batch.cell.owns_loop
            if joins and sum(len(b.runs) for b in (*last, batch)) <= GPU_LANES:
                groups[-1] = (*last, batch)
            else:
                groups.append((batch,))
    return groups


def default_lanes(runs: int, workers: int) -> int:
    """Lanes of a batch on a CPU: few if there are few runs, so that every worker has several."""
    return max(1, min(CPU_LANES, runs // (BATCHES_PER_WORKER * workers)))


def lanes_elsewhere(runs: int, workers: int | None) -> int:
    """Lanes of a batch for other machines.

    Each batch starts processes of its own there: there are no more than are executed at once.

    Args:
        runs: how many are to do.
        workers: batches to execute at once, as far as the user said.
    """
    return max(1, min(CPU_LANES, -(-runs // (workers or MACHINES))))


def plugins_of(batch: Batch, host: Host) -> list[Plugin]:
    """The plugins that a batch's task, method and metrics come from, and those that these need."""
    return host.with_requirements([kind.origin(name) for kind, name in registered(batch, host)])


def registered(batch: Batch, host: Host) -> list[tuple[Registry[Any], str]]:
    """The components of a batch's task, method and metrics: names, each with its registry."""
    task, method = batch.cell.task, batch.cell.method
    risks = host.risk_names.names_in(batch.cell.config, *(m.risk for m in batch.metrics))
    parts: list[tuple[Registry[Any], str | None]] = [
        *((host.risk_measures, name) for name in risks),
        (host.environments, task.environment),
        (host.datasets, task.dataset),
        (host.agents, method.agent),
        (host.estimators, method.estimator),
    ]
    return [(registry, name) for registry, name in parts if name is not None]
