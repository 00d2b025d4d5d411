"""Executors: where batches are executed, and what a plugin that brings one implements.

An executor submits orders and says in which state their jobs are. It carries no progress: a node
writes what happens to a small file in the store, from which any driver reads it. So the driver may
die: one that is started again reads the same files.

What is sent is an order: names of a suite, a budget, tasks, methods and seeds, with the digests of
the runs that they mean. The node plans again, and refuses where its runs or packages differ.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from uqbench.contract.identity import DeviceKind

ORDERS = ".orders"
"""Folder of a store with its orders and what became of them."""

Name = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Limit = Annotated[float, Field(gt=0, allow_inf_nan=False)] | None


class Resources(BaseModel):
    """Cores, GPUs and memory that an order needs of a node.

    Attributes:
        cpus: cores.
        gpus: GPUs; a fraction where several orders share one.
        memory_gb: of memory; None for the executor's default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpus: Share = 1.0
    gpus: Share = 0.0
    memory_gb: Limit = None


class Order(BaseModel):
    """Batches that one process executes: the unit that is submitted, retried and requeued.

    Attributes:
        name: of the order; the same runs, asked for in the same way, have the same.
        suite: name of the suite.
        budget: name of the budget.
        device: kind of device that the runs are for; it has to be there where they are executed.
        steps: instead of the budget's; None for the budget's.
        settings: values of ``--set``, by method.
        batches: digests of the runs of each batch; the steps of the batches are interleaved.
        runs: task, method and seed of each run, by its digest.
        content: sha256 of the packages that the runs are made with.
        checkpoint_seconds: between two checkpoints of a batch; 0 for none.
        limits: ``run_minutes``, ``run_gigabytes``, ``stall_minutes`` of a run.
        keep_agents: whether the final state of each agent is stored.
        stage: of the runs, that is done; None for both.
        resources: what it needs.
        place: name of the executor to which it was submitted, and values of its config.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    name: Name
    suite: str
    budget: str
    device: DeviceKind
    steps: int | None = None
    settings: dict[str, dict[str, Any]] = {}
    batches: Annotated[
        tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=1)
    ]
    runs: dict[str, tuple[str, str, int]]
    content: dict[str, str]
    checkpoint_seconds: float
    limits: dict[str, float | None] = {}
    keep_agents: bool = False
    stage: Literal["train", "judge"] | None = None
    resources: Resources = Resources()
    place: tuple[str, dict[str, Any]] = ("", {})

    @model_validator(mode="after")
    def _check_runs(self) -> Order:
        digests = [digest for batch in self.batches for digest in batch]
        if sorted(digests) != sorted(self.runs):
            raise ValueError("expected each run in one batch")
        return self

    def path(self, root: Path) -> Path:
        """The file that holds it, in a store."""
        return order_path(root, self.name)


def order_path(root: Path, name: str) -> Path:
    """The file of the order of that name, in a store.

    Raises:
        ValueError: that is no name of an order.
    """
    if not re.fullmatch(r"[0-9a-f]{16}", name):
        raise ValueError(f"{name!r} is no name of an order; expected 16 hex digits")
    return root / ORDERS / f"{name}.json"


@dataclass(frozen=True)
class ExecutorContext:
    """The results folder that an executor works for, and its number of workers.

    Attributes:
        root: of the store, an absolute path; the same folder on every machine.
        workers: orders to execute at once; None for as many as there is room for.
    """

    root: Path
    workers: int | None = None


class JobState(Enum):
    """State of an order's job.

    Only what has ended is not executed again without being submitted again.
    """

    WAITING = "waiting"
    RUNNING = "running"
    RESTARTING = "to be restarted"
    ENDED = "ended"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class JobStatus:
    """The state of an order's job; in words, why it waits, or how it ended."""

    state: JobState
    note: str = ""


class Executor(Protocol):
    """Submits orders and says in which state their jobs are; made by an ``ExecutorSpec``'s factory.

    The files of the orders are in the store before they are submitted. To execute one, a node calls
    ``uqbench_cluster.node.execute_order(path)``, or runs the command
    ``python -m uqbench_cluster.node PATH``. Executing one again resumes it. An order's file
    stays until all of its runs are finished, or it is canceled.

    Attributes:
        poll_seconds: between two polls of all jobs.
    """

    poll_seconds: float

    def submit(self, orders: Sequence[Order]) -> None:
        """Have each executed once, and again where its node was lost; does not wait.

        Raises:
            UqbenchError: they cannot be submitted.
        """

    def status(self, names: Collection[str]) -> Mapping[str, JobStatus]:
        """The status of each order's job, also of those that an earlier driver submitted."""

    def preview(self, orders: Sequence[Order]) -> str:
        """The text of a submission, to read; nothing is started."""

    def cancel(self, names: Collection[str]) -> None:
        """Have them stopped; their workers write a last checkpoint."""
