"""A short measurement of a method's speed here, by number of lanes and of processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from statistics import mean
from typing import TYPE_CHECKING, Any

from uqbench.config import CountsGradientSteps
from uqbench.runner.batching.speeds import MethodSpeed
from uqbench.runner.executors.local import ENVIRONMENT, prepare_process
from uqbench.runner.executors.messages import Channel, MessageError, ready
from uqbench.runner.executors.spawn import start
from uqbench.runner.pace import Pace

if TYPE_CHECKING:  # a spawned process imports this module before it limits its threads
    from multiprocessing.process import BaseProcess

    import torch

    from uqbench.registry.plugins import Host
    from uqbench.runner.batching.batches import Batch
    from uqbench.suites.plan import Cell

LANES = (1, 2, 5, 10)
SECONDS = 0.5
"""Time spent on one number of lanes."""
WARM_UP = 150
"""Steps before timing starts: the first gradient steps compile and allocate."""
WHOLE = 100
"""Fewest steps that are timed: not every step has a gradient step."""


@dataclass(frozen=True)
class Speed:
    """Environment steps per second of all lanes of all processes together."""

    lanes: int
    processes: int
    steps_per_s: float


def measure_speeds(batch: Batch, cores: int) -> list[Speed]:
    """Time a method's steps, with gradient steps, in all cores and, uncompiled, in half of them.

    Args:
        batch: runs of a cell of an agent written for lanes; the first ones are used.
        cores: most processes.
    """
    speeds = []
    half = max(1, cores // 2) if batch.budget.numerics == "eager" else cores
    for processes in sorted({cores, half}, reverse=True):
        by_process = list(_answers([start(_measure, batch) for _ in range(processes)]))
        for lanes in sorted({lanes for rates in by_process for lanes in rates}):
            total = sum(rates.get(lanes, 0.0) for rates in by_process)
            speeds.append(Speed(lanes, processes, total))
    return speeds


def measure_methods(batches: Sequence[Batch], processes: int) -> Iterator[tuple[Cell, MethodSpeed]]:
    """Time the steps of several methods, one batch of each, in as many processes as will run.

    A method that fails is left out: its runs will fail too, with the reason.

    Args:
        batches: of agents written for lanes.
        processes: number of concurrent processes.
    """
    shares = [batches[first::processes] for first in range(min(processes, len(batches)))]
    yield from _answers([start(_measure_methods, share) for share in shares])


def _answers(started: Sequence[tuple[BaseProcess, Channel]]) -> Iterator[Any]:
    """What processes send until they end, or until their pipe is written to by something else."""
    left = {channel: process for process, channel in started}
    try:
        while left:
            for channel in ready(left):
                try:
                    yield from channel.receive()
                except (EOFError, OSError, MessageError):
                    process = left.pop(channel)
                    process.kill()
                    process.join()
    finally:
        for process in left.values():
            process.kill()


def _measure(channel: Channel, batch: Batch) -> None:
    os.environ.update(ENVIRONMENT)
    import torch

    from uqbench.registry.plugins import Host

    prepare_process()
    host, device = Host.load(), torch.device("cpu")
    rates = {}
    for lanes in LANES:
        if lanes <= len(batch.runs):
            rates[lanes] = time_steps(batch.of(batch.runs[:lanes]), host, device).steps_per_s
    channel.send(rates)


def _measure_methods(channel: Channel, batches: Sequence[Batch]) -> None:
    os.environ.update(ENVIRONMENT)
    import torch

    from uqbench.registry.plugins import Host

    prepare_process()
    host, device = Host.load(), torch.device("cpu")
    for batch in batches:
        if batch.budget.numerics == "compiled":
            torch.compiler.reset()
        try:
            timed = time_steps(batch, host, device)
        except Exception:  # a plugin may raise anything; its runs will fail with it
            continue
        lanes = len(batch.runs)
        speed = MethodSpeed(
            task=batch.cell.task.name,
            lanes=lanes,
            step_ms=1000 * timed.step_s / lanes,
            gradient_step_ms=1000 * timed.gradient_step_s / lanes,
            start_s=timed.start_s,
            megabytes=timed.megabytes / lanes,
        )
        channel.send((batch.cell, speed))


@dataclass(frozen=True)
class Timed:
    """What a batch's steps took.

    Attributes:
        steps_per_s: of all its lanes, once it is warm.
        step_s: seconds of a step; without gradient steps where these were told apart.
        gradient_step_s: seconds of a gradient step; 0 where every step had one, or none, or the
            config does not count them.
        start_s: seconds before that, minus what the steps themselves take.
        megabytes: of its agent's tensors, the replay buffer as large as it will be.
    """

    steps_per_s: float
    step_s: float
    gradient_step_s: float
    start_s: float
    megabytes: float


def time_steps(
    batch: Batch,
    host: Host,
    device: torch.device,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Timed:
    """Time a batch's steps, with gradient steps, once it is warm.

    Args:
        batch: as planned, but its agent learns from the first steps on.
        host: the plugins.
        device: where.
        seconds: shortest time to measure.
        clock: returns seconds.
    """
    from uqbench.runner.train.agents import make_agent, make_training_lanes
    from uqbench.runner.train.compiling import compile_agent
    from uqbench.runner.train.loop import interact
    from uqbench.runner.train.recorder import Recorder

    made = clock()
    batch = replace(batch, cell=replace(batch.cell, config=learning_at_once(batch.cell.config)))
    env = make_training_lanes(batch, host, device)
    agent = make_agent(batch, host, env, device)
    if batch.budget.numerics == "compiled":
        compile_agent(agent)
    steps, actors = batch.budget.steps, batch.budget.actors
    events = host.environments[str(batch.cell.task.environment)].events
    recorder = Recorder(len(batch.runs), steps, events, device, actors=actors)
    whole = steps // actors
    first, at = min(WARM_UP, whole // 2) * actors, []
    for position in interact(agent, env, steps, recorder, actors=actors):
        if position.step >= first:
            at.append(clock())
        if len(at) > min(WHOLE, whole - first // actors) and at[-1] - at[0] > seconds:
            break
    took = [after - before for before, after in pairwise(at)]
    pace = time_per_step(took, first, batch.cell.config, actors)
    return Timed(
        steps_per_s=len(batch.runs) * actors * (len(at) - 1) / (at[-1] - at[0]),
        step_s=pace.step_s,
        gradient_step_s=pace.gradient_step_s,
        start_s=max(0.0, at[0] - made - pace.seconds(0, first)),
        megabytes=sum(_storages(agent, {}).values()) / 1e6,
    )


def time_per_step(took: Sequence[float], first: int, config: object, actors: int = 1) -> Pace:
    """What a step and a gradient step take, where some steps have a gradient step and others none.

    Args:
        took: seconds of every vector step after the first ``first`` steps.
        first: steps that were not timed.
        config: the method's; where it does not count gradient steps, they are part of a step.
        actors: K, steps of a vector step.
    """
    learning = [
        config.gradient_steps(step + actors) - config.gradient_steps(step)
        if isinstance(config, CountsGradientSteps)
        else 0
        for step in range(first, first + actors * len(took), actors)
    ]
    others = [seconds for seconds, count in zip(took, learning, strict=True) if not count]
    if not any(learning) or not others:
        return Pace(mean(took) / actors)
    vector_step_s = mean(others)
    spent = sum(took) - vector_step_s * len(took)
    return Pace.measured(vector_step_s / actors, max(0.0, spent / sum(learning)), config)


def _storages(thing: object, found: dict[int, int], seen: set[int] | None = None) -> dict[int, int]:
    """Bytes of the tensors that an object holds, by address; what is shared counts once."""
    import torch

    seen = set() if seen is None else seen
    if id(thing) in seen:
        return found
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        storage = thing.untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
    elif isinstance(thing, dict):
        for part in thing.values():
            _storages(part, found, seen)
    elif isinstance(thing, list | tuple):
        for part in thing:
            _storages(part, found, seen)
    elif isinstance(thing, torch.nn.Module) or not callable(thing):
        _storages(getattr(thing, "__dict__", {}), found, seen)
    return found


def learning_at_once(config: object) -> object:
    """A config with which an agent learns at once, if it has a start."""
    if "learning_starts" not in {field.name for field in fields(config)}:  # type: ignore[arg-type]
        return config
    return replace(config, learning_starts=1)  # type: ignore[type-var]
