"""How fast each method's steps are on this machine: measured once, kept with the results.

``.speeds.json`` is a cache: delete it and it is measured again. The time of a step, and that of a
gradient step, depend on the task, the method's config and how the update is executed, not on the
number of steps.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from uqbench.config import CountsGradientSteps, learning_from
from uqbench.identity import Run, digest_of
from uqbench.results.files import read_bytes, write_data
from uqbench.results.records import MOST_BYTES, Seconds
from uqbench.runner.batching.batches import Batch
from uqbench.runner.executors.local import ENVIRONMENT, prepare_process
from uqbench.runner.executors.messages import Channel, MessageError, ready
from uqbench.runner.executors.spawn import start
from uqbench.suites.plan import Cell, Plan

if TYPE_CHECKING:  # a spawned process imports this module before it limits its threads
    import torch

    from uqbench.registry.plugins import Host

FILE = ".speeds.json"
SECONDS = 0.5
"""Time spent on a method."""
WARM_UP = 150
"""Environment steps before timing starts: the first gradient steps compile and allocate."""
WHOLE = 100
"""Fewest environment steps that are timed: not every one has a gradient step."""
FEWEST = 8
"""Vector steps, for either, however many actors take them."""
WORTH_FROM = {"eager": 180.0, "compiled": 3600.0}
"""Seconds that a plan must take for a measurement to pay, by numerics.

It takes a second or two per method, compiled half a minute.
"""


@dataclass(frozen=True)
class MethodSpeed:
    """What a method's runs take, in one of as many processes as there will be.

    Attributes:
        task: that was measured; other tasks of the suite are assumed to be alike.
        lanes: runs of a process.
        step_ms: milliseconds of one run's step; without its gradient steps where these could be
            told apart.
        gradient_step_ms: of one run's gradient step; 0 where they could not.
        start_s: seconds of a batch before its steps have that speed: loading, compiling.
        megabytes: of a run's networks, replay buffer and all else that its agent keeps.
    """

    task: str
    lanes: Annotated[int, Field(ge=1)]
    step_ms: Annotated[Seconds, Field(gt=0)]
    gradient_step_ms: Seconds
    start_s: Seconds
    megabytes: Seconds


_TABLE = TypeAdapter(dict[str, dict[str, MethodSpeed]])


class Speeds:
    """The speeds measured so far, by kind of machine.

    Args:
        root: the folder of results.
        machine: kind of machine, in words; empty for this one's.
    """

    def __init__(self, root: Path, machine: str = "") -> None:
        self._path = root / FILE
        self._machine = machine or _machine()
        try:
            self._all = _TABLE.validate_json(read_bytes(self._path, MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            self._all = {}  # missing, of another version, or damaged: measured again

    def of(self, plan: Plan) -> Mapping[str, MethodSpeed]:
        """The speed of this kind of machine by method, where it is known."""
        own = self._all.get(self._machine, {})
        keys = {cell.method.name: _key(plan, cell) for cell in reversed(plan.cells)}
        return {method: own[key] for method, key in keys.items() if key in own}

    def add(self, plan: Plan, measured: Iterable[tuple[Cell, MethodSpeed]]) -> None:
        """Keep what was measured, in memory and on disk."""
        own = self._all.setdefault(self._machine, {})
        own.update({_key(plan, cell): speed for cell, speed in measured})
        table = {
            name: {key: asdict(speed) for key, speed in speeds.items()}
            for name, speeds in self._all.items()
        }
        write_data(self._path, (json.dumps(table, indent=2, sort_keys=True) + "\n").encode())


def _machine() -> str:
    """Cores and processor of this machine, in words: machines of one kind are equally fast."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(errors="replace").splitlines() if facts.exists() else []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{os.cpu_count()} × {next(models, platform.machine())}"


def _key(plan: Plan, cell: Cell) -> str:
    """The key of a speed: the method, with all that its step depends on."""
    identity = cell.runs[0].identity
    depends = {
        "suite": identity["suite"],
        "method": identity["method"],
        "numerics": plan.budget.numerics,
        "device": identity["device"],
        **({} if plan.budget.actors == 1 else {"actors": plan.budget.actors}),
    }
    return f"{plan.suite.name}/{cell.method.name}/{digest_of(depends)[:12]}"


def worth_measuring(
    plan: Plan, todo: set[Run], known: Collection[str], lanes: int, core_seconds: float
) -> list[Batch]:
    """A batch of each method whose speed is unknown; none if the plan is too short to pay for it.

    Steps can be timed of agents that are written for lanes.

    Args:
        plan: what was planned.
        todo: the runs to do.
        known: methods whose speed is known.
        lanes: of a process.
        core_seconds: how long each process would take for its share of the runs.
    """
    if core_seconds < WORTH_FROM[plan.budget.numerics]:
        return []
    cells: dict[str, Cell] = {}
    for cell in plan.cells:
        timed = cell.method.agent and not cell.owns_loop and cell.method.name not in known
        if timed and not todo.isdisjoint(cell.runs):
            cells.setdefault(cell.method.name, cell)
    return [
        Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, "cpu").of(cell.runs[:lanes])
        for cell in cells.values()
    ]


def measure(batches: Sequence[Batch], processes: int) -> Iterator[tuple[Cell, MethodSpeed]]:
    """Time the steps of several methods, one batch of each, in as many processes as will run.

    A method that fails is left out: its runs will fail too, with the reason.

    Args:
        batches: of agents written for lanes.
        processes: number of concurrent processes.
    """
    shares = [batches[first::processes] for first in range(min(processes, len(batches)))]
    left = {channel: process for process, channel in (start(_measure, share) for share in shares)}
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


def _measure(channel: Channel, batches: Sequence[Batch]) -> None:
    os.environ.update(ENVIRONMENT)
    import torch

    from uqbench.registry.plugins import Host

    prepare_process()
    host, device = Host.load(), torch.device("cpu")
    for batch in batches:
        if batch.budget.numerics == "compiled":
            torch.compiler.reset()
        try:
            _, speed = time_steps(batch, host, device)
        except Exception:  # a plugin may raise anything; its runs will fail with it
            continue
        channel.send((batch.cell, speed))


def time_steps(
    batch: Batch,
    host: Host,
    device: torch.device,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, MethodSpeed]:
    """Time a batch's steps, with gradient steps, once it is warm.

    Args:
        batch: as planned, but its agent learns from the first steps on.
        host: the plugins.
        device: where.
        seconds: shortest time to measure.
        clock: returns seconds.

    Returns:
        Steps per second of all its lanes, and what one run takes.
    """
    from uqbench.runner.train.agents import make_agent, make_training_lanes
    from uqbench.runner.train.compiling import compile_agent
    from uqbench.runner.train.loop import interact
    from uqbench.runner.train.recorder import Recorder

    made = clock()
    config = learning_from(batch.cell.config, 1)
    batch = replace(batch, cell=replace(batch.cell, config=config))
    env = make_training_lanes(batch, host, device)
    agent = make_agent(batch, host, env, device)
    if batch.budget.numerics == "compiled":
        compile_agent(agent)
    actors, lanes = batch.budget.actors, len(batch.runs)
    steps = batch.budget.steps // actors  # vector steps
    events = host.environments[str(batch.cell.task.environment)].events
    recorder = Recorder(lanes, steps * actors, events, device, actors=actors)
    first, at = min(max(FEWEST, WARM_UP // actors), steps // 2), []
    whole = min(max(FEWEST, WHOLE // actors), steps - first)
    for position in interact(agent, env, steps * actors, recorder, actors=actors):
        if position.step >= first * actors:
            at.append(clock())
        if len(at) > whole and at[-1] - at[0] > seconds:
            break
    took = [after - before for before, after in pairwise(at)]
    learning = gradient_steps(config, first, len(took), actors)
    step_s, gradient_step_s = time_per_step(took, learning)
    warm = first * step_s + sum(gradient_steps(config, 0, first, actors)) * gradient_step_s
    speed = MethodSpeed(
        task=batch.cell.task.name,
        lanes=lanes,
        step_ms=1000 * step_s / lanes / actors,
        gradient_step_ms=1000 * gradient_step_s / lanes,
        start_s=max(0.0, at[0] - made - warm),
        megabytes=_bytes(agent) / lanes / 1e6,
    )
    return lanes * actors * (len(at) - 1) / (at[-1] - at[0]), speed


def gradient_steps(config: object, first: int, number: int, actors: int = 1) -> list[int]:
    """Gradient steps of each of ``number`` vector steps after ``first``, as the config counts them.

    None where it does not.
    """
    if not isinstance(config, CountsGradientSteps):
        return [0] * number
    ends = range(first, first + number + 1)
    before = [config.gradient_steps(vector_step * actors) for vector_step in ends]
    return [after - counted for counted, after in pairwise(before)]


def time_per_step(took: Sequence[float], learning: Sequence[int]) -> tuple[float, float]:
    """Seconds of a step and of a gradient step, where some steps have these and others have none.

    Elsewhere gradient steps are part of a step.

    Args:
        took: seconds of each step.
        learning: gradient steps of each.
    """
    others = [seconds for seconds, count in zip(took, learning, strict=True) if not count]
    if not any(learning) or not others:
        return mean(took), 0.0
    step_s = mean(others)
    return step_s, max(0.0, (sum(took) - step_s * len(took)) / sum(learning))


def _bytes(agent: object) -> int:
    """Bytes of the tensors that an agent holds; what is shared counts once."""
    import torch

    storages: dict[int, int] = {}
    seen: set[int] = set()
    parts: list[Any] = [agent]
    while parts:
        part = parts.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, torch.Tensor):
            storage = part.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        elif isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part
        elif isinstance(part, torch.nn.Module) or not callable(part):
            parts += getattr(part, "__dict__", {}).values()
    return sum(storages.values())
