"""How fast a method's steps are here, by number of lanes and of processes: a short measurement."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process

if TYPE_CHECKING:  # a spawned process imports this module before it limits its threads
    import torch

    from uqbench.registry.plugins import Host
    from uqbench.runner.batching.batches import Batch

LANES = (1, 2, 5, 10)
SECONDS = 0.5
"""Of the clock, for one number of lanes."""


@dataclass(frozen=True)
class Speed:
    """Environment steps per second of all lanes of all processes together."""

    lanes: int
    processes: int
    steps_per_s: float


def measure_speeds(batch: Batch, cores: int) -> list[Speed]:
    """Time a method's steps, with gradient steps, in all cores and, uncompiled, in half of them.

    Args:
        batch: runs of a cell of an agent written for lanes; the first are taken.
        cores: most processes.
    """
    speeds = []
    half = max(1, cores // 2) if batch.budget.numerics == "eager" else cores
    for processes in sorted({cores, half}, reverse=True):
        by_process = list(_in_processes(batch, processes))
        for lanes in sorted({lanes for rates in by_process for lanes in rates}):
            total = sum(rates.get(lanes, 0.0) for rates in by_process)
            speeds.append(Speed(lanes, processes, total))
    return speeds


def _in_processes(batch: Batch, processes: int) -> Iterator[Mapping[int, float]]:
    """Steps per second by number of lanes, of each of some processes that run at once."""
    context = multiprocessing.get_context("spawn")
    started = []
    for _ in range(processes):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_measure, args=(theirs, batch), daemon=True)
        process.start()
        theirs.close()
        started.append((process, ours))
    try:
        for process, connection in started:
            try:
                yield connection.recv()
            except EOFError:
                yield {}  # it failed: so will the runs, and they tell why
            process.join()
    finally:
        for process, _ in started:
            process.kill()


def _measure(connection: Connection, batch: Batch) -> None:
    os.environ.update(ENVIRONMENT)
    import torch

    from uqbench.registry.plugins import Host

    prepare_process()
    host, device = Host.load(), torch.device("cpu")
    rates = {}
    for lanes in LANES:
        if lanes <= len(batch.runs):
            rates[lanes] = _rate(batch.of(batch.runs[:lanes]), host, device)
    connection.send(rates)


def _rate(batch: Batch, host: Host, device: torch.device) -> float:
    from uqbench.config import scaled
    from uqbench.runner.train.agents import make_agent, make_lanes
    from uqbench.runner.train.compiling import compile_agent
    from uqbench.runner.train.loop import interact
    from uqbench.runner.train.recorder import Recorder

    # schedules of a step: learning starts at once
    batch = replace(batch, cell=replace(batch.cell, config=scaled(batch.cell.config, 0.0)))
    env = make_lanes(batch, host, [run.environment_seed for run in batch.runs], device)
    agent = make_agent(batch, host, env, device)
    if batch.budget.numerics == "compiled":
        compile_agent(agent)
    steps = batch.budget.steps
    events = host.environments[str(batch.cell.task.environment)].events
    recorder = Recorder(len(batch.runs), steps, events, device)
    began, first = 0.0, min(64, steps // 2)
    for position in interact(agent, env, steps, recorder):
        if position.step == first:
            began = time.perf_counter()
        taken = position.step - first
        if taken > 0 and time.perf_counter() - began > SECONDS:
            break
    return taken * len(batch.runs) / (time.perf_counter() - began)
