"""Whether this machine can run a night: kernels, compilation, each phase of each method.

``python doctor.py OPTIONS`` looks at the machine and prints the plan, ``python doctor.py OPTIONS
METHOD`` at one method; ``OPTIONS`` are those of ``uqbench.run`` in JSON. What was found is JSON on
stdout, and a fault the last line on stderr, with exit code 1. Each runs in a process of its own,
because what is compiled and captured here must not stay.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from uqbench.api.options import Options
from uqbench.api.run import plan as planned
from uqbench.api.session import Session
from uqbench.contract.identity import DeviceKind
from uqbench.lanes import Capturable
from uqbench.registry.plugins import Host
from uqbench.results.store import Store
from uqbench.runner.batches import Batch
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.interleaving import joined
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.compiling import WARM_UP, capture_of, execute_as
from uqbench.runner.train.environments import TaskEnvironment, environment
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites.plan import Plan

TIMES = WARM_UP + 2
"""Steps of a phase: those from Python, its capture, and a replay."""


def machine(options: dict[str, Any]) -> dict[str, Any]:
    """The plan's methods with what they cost, and the memory that is free.

    Raises:
        Exception: a kernel cannot be launched, or a gradient not be compiled.
    """
    device = torch.device(options["device"])
    launch(device)
    compile_gradient(device)
    named = {name: value for name, value in options.items() if name not in ("suite", "budget")}
    plan = planned(options["suite"], options["budget"], **named)
    table = plan.methods
    free = torch.cuda.mem_get_info()[0] if device.type == "cuda" else available()
    seconds = {name: cost for name, _, _, cost in table.itertuples(index=False)}
    runs = Counter(run.method for run in plan.plan.runs)
    tasks = list(dict.fromkeys(run.task for run in plan.plan.runs))
    return {"seconds": seconds, "runs": runs, "tasks": tasks, "free": free}


def launch(device: torch.device) -> None:
    """Launch a kernel of numba.cuda; in its simulator where a CPU stands for the GPU."""
    if device.type == "cpu":
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    import kernel

    kernel.launch(device)


def compile_gradient(device: torch.device) -> None:
    """Compile a function with its gradient by Inductor, and compare."""
    x = torch.linspace(0, 1, 1_000, device=device, requires_grad=True)
    torch.compile(lambda values: (values.sin() ** 2).sum())(x).backward()
    if x.grad is None or not torch.allclose(x.grad, (2 * x).sin(), atol=1e-5):
        raise RuntimeError("a gradient that Inductor compiled is wrong")


def available() -> int:
    """Bytes of memory that are free for new processes."""
    facts = Path("/proc/meminfo").read_text("ascii").splitlines()
    [line] = [line for line in facts if line.startswith("MemAvailable:")]
    return int(line.split()[1]) * 1024


def method(options: dict[str, Any], name: str) -> dict[str, Any]:
    """Memory of a run of a method, in bytes, and how many phases its steps have: each is forced.

    Raises:
        Exception: a step of one fails, or cannot be captured.
    """
    session, device = Session(Options(**options)), torch.device(options["device"])
    plan = session.plan(kind_of(device))
    before = held()
    phases, lanes, keep = forced(plan, session.host, name, device)
    return {"phases": phases, "bytes": (held() - before) // lanes, "kept": len(keep)}


def kind_of(device: torch.device) -> DeviceKind:
    """The kind of a device, as a run's identity has it."""
    return "cuda" if device.type == "cuda" else "cpu"


def forced(
    plan: Plan, host: Host, name: str, device: torch.device
) -> tuple[int, int, list[object]]:
    """The phases of a method's steps, all taken, its lanes, and what took the steps.

    A run of each task where the tasks are one batch, else of the first task.
    """
    cells = [cell for cell in plan.cells if cell.method.name == name]
    each = [
        Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, kind_of(device))
        for cell in cells
    ]
    ones = tuple(batch.of(batch.runs[:1]) for batch in each)
    batch, budget = joined(ones, Store(Path("nowhere")), host)[0], each[0].budget
    if batch.cell.owns_loop:
        return 0, 1, []
    tasks = [TaskEnvironment(part, host, device) for part in batch.parts]
    env = environment(tasks, [task.training_seeds for task in tasks])
    agent, lanes = make_agent(batch, host, env, device), len(batch.runs)
    execute_as(agent, budget.numerics, lambda text: print(text, file=sys.stderr))
    recorder = Recorder(lanes, budget.steps, tasks[0].spec.events, device, actors=budget.actors)
    stream = nullcontext() if device.type == "cpu" else torch.cuda.stream(torch.cuda.Stream())
    with stream:
        capture = capture_of(agent, env, device, budget.numerics)
        steps = interact(agent, env, budget.steps, recorder, None, capture, budget.actors)
        first: dict[Any, int] = {}  # vector steps of the run, by phase
        if isinstance(agent, Capturable):
            for t in range(0, budget.steps, budget.actors):
                first.setdefault(agent.phase(t), t)
        for t in first.values() or [0]:
            for _ in range(TIMES):
                if isinstance(agent, Capturable):
                    agent.clock.load_state_dict({"t": t})
                next(steps)
    return len(first), lanes, [agent, env, recorder]


def held() -> int:
    """Bytes of all tensors of this process; on a GPU, the most that there ever were."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
        return torch.cuda.max_memory_reserved()
    tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), Tensor)]
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def main(arguments: list[str]) -> int:
    """Look, and print what was found; the exit code."""
    prepare_process()
    options = json.loads(arguments[0])
    try:
        found = method(options, arguments[1]) if arguments[1:] else machine(options)
    except Exception as error:  # a plugin, a driver or a compiler may raise anything
        print(f"{type(error).__name__}: {error!s:.300}".replace("\n", " "), file=sys.stderr)
        return 1
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
