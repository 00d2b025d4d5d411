"""Whether one GPU computes what the CPU does, and how fast: a page in Markdown.

Needs CUDA. Environments with kernels of their own are stepped on both devices, and compared bit by
bit; methods are trained from Python and captured, and compared; then their steps are timed. Exits
with 1 where a bit differs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version

import torch
from timed_steps import learning_at_once
from uqbench_testing.same_bits import Difference, compare_captured, difference, train

from uqbench.contract.agent import Agent
from uqbench.contract.environment import LaneEnv
from uqbench.contract.errors import UqbenchError
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.compiling import (
    Capture,
    can_be_captured,
    compile_agent,
    cuda_graphs,
)
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.suites.plan import Plan, make_plan
from uqbench.suites.reading import read_suites

WARM_UP = 150
"""Steps before timing starts: the first ones compile, allocate and are captured."""

SUITES = ("minatar", "highway")
"""Suites whose environments have kernels of their own; ``smoke`` plans their runs."""

KERNEL_LANES, KERNEL_STEPS = 64, 2_000
CAPTURE_LANES, CAPTURE_STEPS = 3, 300
SPEED_LANES, SPEED_STEPS = 10, 1_000


def gpu_page(host: Host) -> Iterator[tuple[bool, str]]:
    """Lines of the page, in Markdown, each with whether what it says is as it should be.

    Raises:
        UqbenchError: torch finds no CUDA device.
    """

    if not torch.cuda.is_available():
        raise UqbenchError(
            f"this needs a CUDA device and a torch that is built for it: torch "
            f"{torch.__version__} finds none here"
        )
    device = torch.device("cuda")
    about = torch.cuda.get_device_properties(device)
    yield True, f"# uqbench {version('uqbench')} on {about.name}"
    yield (
        True,
        (
            f"\ntorch {torch.__version__}, CUDA {torch.version.cuda}, compute capability "
            f"{about.major}.{about.minor}, {about.total_memory / 2**30:.0f} GiB"
        ),
    )
    suites = read_suites(host).suites
    for name in SUITES:
        if name not in suites:
            yield False, f"\nsuite {name}: not installed"
            continue
        plan = make_plan(suites[name], host, "smoke", device="cuda", seeds=range(SPEED_LANES))
        yield from kernels(plan, host, device)
        yield from methods(plan, host, device, cuda_graphs)


def compare_lanes(one: LaneEnv, other: LaneEnv, steps: int, seed: int = 0) -> Difference | None:
    """Step two copies of an environment with the same uniformly random valid actions.

    Args:
        one: on the CPU.
        other: on any device, with as many lanes, of the same seeds.
        steps: of each lane.
        seed: of the actions.

    Returns:
        The first outcome that differs in a bit; None if none does.
    """
    generator = torch.Generator().manual_seed(seed)
    (obs, valid), (other_obs, other_valid) = one.reset(), other.reset()
    first = difference((obs, valid), (other_obs, other_valid), "reset")
    for t in range(steps):
        if first is not None:
            break
        open_ = torch.ones(len(obs), one.n_actions) if valid is None else valid.float()
        action = torch.multinomial(open_, 1, generator=generator)[:, 0]
        outcome = one.step(action)
        first = difference(outcome, other.step(action.to(other_obs.device)), f"step {t}")
        valid = outcome.valid
    return first


def updates_per_second(
    agent: Agent, env: LaneEnv, steps: int, capture: Capture | None, clock: Callable[[], float]
) -> float:
    """Environment steps per second of all lanes together, once they are warm."""
    began, lanes = 0.0, 0
    for position in train(agent, env, WARM_UP + steps, capture):
        if position.step == WARM_UP:
            began, lanes = clock(), len(position.obs)
    return steps * lanes / (clock() - began)


def kernels(plan: Plan, host: Host, device: torch.device) -> Iterator[tuple[bool, str]]:
    """A table: each task's environment on the device against the CPU, bit for bit."""

    title = f"{plan.suite.name}, {KERNEL_LANES} lanes × {KERNEL_STEPS:,} steps"
    yield True, f"\n| {title} | against the CPU |\n| --- | --- |"
    for cell in {cell.task.name: cell for cell in plan.cells}.values():
        batch, seeds = _batch(plan, cell.task.name, cell.method.name, 1), range(KERNEL_LANES)
        on_cpu = TaskEnvironment(batch, host, torch.device("cpu")).lanes(seeds)
        first = compare_lanes(
            on_cpu, TaskEnvironment(batch, host, device).lanes(seeds), KERNEL_STEPS
        )
        yield first is None, f"| {cell.task.name} | {_compared(first)} |"


def methods(
    plan: Plan, host: Host, device: torch.device, new_capture: Callable[[], Capture]
) -> Iterator[tuple[bool, str]]:
    """A table: each method captured against run from Python, its speed and its memory."""

    task = plan.cells[0].task.name
    yield (
        True,
        (
            f"\n| {plan.suite.name}, {task} | captured against from Python | updates/s of "
            f"{SPEED_LANES} seeds | GiB |\n| --- | --- | ---: | ---: |"
        ),
    )
    for cell in plan.cells:
        if cell.task.name != task or cell.role != "method" or cell.owns_loop:
            continue
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                line = _method(cell.method.name, plan, task, host, device, new_capture)
        except Exception as error:  # a method that fails is a line of the page
            line = False, f"| {cell.method.name} | {type(error).__name__}: {error} | | |"
        yield line


def _method(
    name: str,
    plan: Plan,
    task: str,
    host: Host,
    device: torch.device,
    new_capture: Callable[[], Capture],
) -> tuple[bool, str]:

    few, many = (_batch(plan, task, name, lanes) for lanes in (CAPTURE_LANES, SPEED_LANES))
    first, compared = None, "runs from Python"
    if capturable := can_be_captured(*_made(few, host, device), device):
        first = compare_captured(lambda: _made(few, host, device), CAPTURE_STEPS, new_capture())
        compared = _compared(first)
    torch.cuda.reset_peak_memory_stats(device)
    agent, env = _made(many, host, device)
    compile_agent(agent)
    capture = new_capture() if capturable else None
    speed = updates_per_second(agent, env, SPEED_STEPS, capture, _seconds)
    memory = torch.cuda.max_memory_allocated(device) / 2**30
    return first is None, f"| {name} | {compared} | {speed:,.0f} | {memory:.1f} |"


def _made(batch: Batch, host: Host, device: torch.device) -> tuple[Agent, LaneEnv]:
    """A batch's agent, which learns from its first steps on, and its environment."""

    batch = learning_at_once(batch)
    env = TaskEnvironment(batch, host, device).lanes([run.environment_seed for run in batch.runs])
    return make_agent(batch, host, env, device), env


def _seconds() -> float:
    """The time at which the device has done all that it was given."""

    torch.cuda.synchronize()
    return time.perf_counter()


def _batch(plan: Plan, task: str, method: str, lanes: int) -> Batch:

    cell = next(c for c in plan.cells if (c.task.name, c.method.name) == (task, method))
    batch = Batch(cell, plan.budget.on(cell.task), plan.suite.metrics, "cuda")
    return batch.of(cell.runs[:lanes])


def _compared(first: Difference | None) -> str:
    """A cell of the table."""
    return "the same bits" if first is None else f"differs at {first.where} by {first.largest:.3g}"


def main() -> None:
    prepare_process()
    right = True
    for good, line in gpu_page(Host.load()):
        right &= good
        print(line, flush=True)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
