"""Executing one batch, in the process that it is called in."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from uqbench.config import resolve
from uqbench.plugins import Host, Plugin
from uqbench.results.columns import Columns
from uqbench.results.provenance import provenance
from uqbench.results.record import RunRecord, Timing
from uqbench.results.scalars import scalar
from uqbench.results.store import Claim, RunState, Store, now, this_process
from uqbench.run import Run
from uqbench.runner.batch import Batch
from uqbench.runner.estimating import fit_estimator
from uqbench.runner.events import Event, Finished, Progress, SetAside, Started, Taken
from uqbench.runner.training import train_agent
from uqbench.suite import Task

REPORT_SECONDS = 0.5
HEARTBEAT_SECONDS = 10.0


def execute(batch: Batch, store: Store, host: Host, report: Callable[[Event], None]) -> None:
    """Train, evaluate and store the runs of a batch; those that another process has are left.

    Args:
        batch: what to run.
        store: where the runs are kept.
        host: the plugins.
        report: called with what happens.
    """
    claims: list[Claim] = []
    runs = []
    try:
        for run in batch.runs:
            claim = store.claim(run)
            if claim is None:
                continue
            claims.append(claim)
            state = store.find(run).state
            if state is RunState.DAMAGED:
                report(SetAside(batch.of([run]), str(store.set_aside(run))))
            if state is not RunState.FINISHED:
                runs.append(run)
        others = [run for run in batch.runs if run not in runs]
        if others:
            report(Taken(batch.of(others)))
        if runs:
            _execute(batch.of(runs), store, host, report)
    finally:
        for claim in claims:
            claim.release()


def fail(batch: Batch, store: Store, reason: str, trace: str | None = None) -> None:
    """Mark the runs of a batch that did not finish as failed, with the reason.

    Raises:
        UqbenchError: it cannot be written, as on a full disk.
    """
    for run in batch.runs:
        claim = store.claim(run)
        if claim is None:
            continue  # another process has it
        try:
            found = store.find(run)
            if found.state is RunState.FINISHED:
                continue
            record = found.record or _blank_record((), "unknown")
            _write(store, run, record, {"status": "failed", "reason": reason, "traceback": trace})
        finally:
            claim.release()


def _execute(batch: Batch, store: Store, host: Host, report: Callable[[Event], None]) -> None:
    budget, runs = batch.budget, batch.runs
    device = torch.device(batch.device)
    record = _blank_record(host.with_requirements(_origins(batch, host)), _device_name(device))

    def write_running(step: int) -> None:
        for run in runs:
            _write(store, run, record, {"step": step})

    write_running(0)
    report(Started(batch))
    began = reported = beaten = time.monotonic()

    def tick(step: int, latest: Mapping[str, NDArray[np.float64]]) -> None:
        nonlocal reported, beaten
        clock = time.monotonic()
        if clock - reported >= REPORT_SECONDS:
            reported = clock
            by_seed = {
                run.seed: {name: float(values[lane]) for name, values in latest.items()}
                for lane, run in enumerate(runs)
            }
            report(Progress(batch, step, clock - began, by_seed))
        if clock - beaten >= HEARTBEAT_SECONDS:
            beaten = clock
            write_running(step)

    if batch.cell.method.estimator is None:
        columns = train_agent(batch, host, device, tick)
    else:
        columns = fit_estimator(batch, host, device)
    seconds = time.monotonic() - began
    timing = Timing(
        seconds=seconds, lanes=len(runs), steps_per_s=budget.steps * len(runs) / seconds
    )
    scalars = {}
    for run, (metrics, episodes) in zip(runs, columns, strict=True):
        scalars[run.seed] = _scalars(batch, host, metrics, episodes)
        update = {
            "identity": dict(run.identity),
            "status": "finished",
            "step": budget.steps,
            "updated": now(),
            "timing": timing,
            "scalars": scalars[run.seed],
            "metrics": {metric.name: metric.definition() for metric in batch.metrics},
        }
        store.finish(run, record.model_copy(update=update), metrics, episodes)
    report(Finished(batch, seconds, scalars))


def _scalars(
    batch: Batch, host: Host, metrics: Columns, episodes: Columns
) -> dict[str, float | None]:
    """A run's final value of every metric that its budget gives."""
    values = {}
    optimal = _optimal_return(batch.cell.task, host)
    for metric in batch.metrics:
        given = metric.kind != "evaluation" or batch.budget.evaluation
        if metric.suits(batch.cell.task) and given:
            measure = host.risk_measures[metric.risk].load_config()
            risk = resolve(measure, metric.risk_config, where=f"metrics.{metric.name}")
            values[metric.name] = scalar(
                metric, risk, episodes, metrics, batch.budget.steps, optimal
            )
    return values


def _optimal_return(task: Task, host: Host) -> float | None:
    """Ground truth, where the task's environment states it."""
    spec = None if task.environment is None else host.environments[task.environment]
    if spec is None or spec.optimal_return is None:
        return None
    options = resolve(spec.load_config(), task.options, where=f"tasks.{task.name}.options")
    return spec.optimal_return(options)


def _origins(batch: Batch, host: Host) -> list[Plugin]:
    """The plugins that a batch's task, method and metrics come from."""
    task, method = batch.cell.task, batch.cell.method
    origins = [host.risk_measures.origin(metric.risk) for metric in batch.metrics]
    if task.environment is not None:
        origins.append(host.environments.origin(task.environment))
    if task.dataset is not None:
        origins.append(host.datasets.origin(task.dataset))
    if method.agent is not None:
        origins.append(host.agents.origin(method.agent))
    if method.estimator is not None:
        origins.append(host.estimators.origin(method.estimator))
    return origins


def _write(store: Store, run: Run, record: RunRecord, update: dict[str, Any]) -> None:
    common = {"identity": dict(run.identity), "updated": now()}
    store.write(run, record.model_copy(update=common | update))


def _blank_record(plugins: Sequence[Plugin], device: str) -> RunRecord:
    return RunRecord(
        identity={},
        status="running",
        step=0,
        began=now(),
        updated=now(),
        process=this_process(),
        provenance=provenance(plugins, device),
    )


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.processor() or platform.machine()}, numpy {np.__version__}"
