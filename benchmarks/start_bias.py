"""Start bias: what a method believes a world is worth that never rewarded it.

    python benchmarks/start_bias.py minatar night --tasks breakout freeway

trains each method by a budget's schedule on rewards of zero and asks it at the task's query states,
after a quarter of the run and at its end (``--until``), or once after ``--toy`` steps: the mean of
its Q over states and actions, in standard deviations of the climatology. The truth is 0. A
support's middle, a prior's maximum or a large initial weight shows here, and would be ranked as if
it were the method.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch, make_batch_groups
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.compiling import can_be_captured, compile_agent, cuda_graphs
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

SEED = 20_000
"""The first seed; no board and no search has it."""


def without_rewards(env: LaneEnv) -> LaneEnv:
    """The environment, whose steps are rewarded with zero from now on."""
    step = env.step

    def unrewarded(action: torch.Tensor) -> Outcome:
        outcome = step(action)
        return replace(outcome, reward=torch.zeros_like(outcome.reward))

    env.step = unrewarded  # type: ignore[method-assign]
    return env


def biases(
    batch: Batch, host: Host, points: Sequence[int], *, compiled: bool = True
) -> list[float | None]:
    """The mean of Q at each of some steps, in standard deviations of the climatology.

    None where none is stated. Not ``compiled``, updates are eager whatever the budget says.
    """
    device = torch.device(batch.device)
    task = TaskEnvironment(batch, host, device)
    scorer = task.query_scorer()
    assert scorer is not None
    env = without_rewards(task.lanes(task.training_seeds))
    agent = make_agent(batch, host, env, device)
    capture = None
    if compiled and batch.budget.numerics == "compiled":
        compile_agent(agent)
        capture = cuda_graphs() if can_be_captured(agent, env, device) else None
    actors = batch.budget.actors
    recorder = Recorder(len(batch.runs), batch.budget.steps, (), device, actors=actors)
    asked = scorer.source.obs(agent, 0)
    climatology = scorer.source.climatology
    assert asked is not None
    assert climatology is not None
    found: list[float | None] = []
    for position in interact(agent, env, max(points), recorder, capture=capture, actors=actors):
        if position.step in points:
            stated = agent.uncertainty(asked)
            mean = None if stated is None else stated.mean
            found.append(None if mean is None else float(mean.mean()) / climatology[0].std)
    return found


def batches(suite: str, budget: str, host: Host, seeds: int = 1, **chosen: Any) -> Iterator[Batch]:
    """Batches of the rows that learn, on seeds that no board has; ``chosen`` as of a plan."""
    plan = make_plan(
        read_suites(host, check=()).suite(suite), host, budget,
        seeds=range(SEED, SEED + seeds), **chosen,
    )  # fmt: skip
    for group in make_batch_groups(plan, plan.runs, chosen["device"], lanes=seeds):
        for batch in group:
            if batch.cell.role in ("method", "unranked") and not batch.cell.owns_loop:
                yield batch


def main() -> None:
    """Print the table as CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("budget")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--until", type=float, default=1.0, help="share of a run")
    parser.add_argument("--toy", type=int, help="steps of a run, with eager updates")
    given = parser.parse_args()
    prepare_process()
    host = Host.load()
    writer = csv.writer(sys.stdout)
    writer.writerow(["method", "role", "task", "step", "bias"])
    chosen = {"device": given.device, "methods": given.methods, "tasks": given.tasks}
    for batch in batches(given.suite, given.budget, host, given.seeds, **chosen):
        steps, each = batch.budget.steps, batch.budget.actors
        shares = sorted({min(0.25, given.until), given.until})
        points = [given.toy or int(steps * share) // each * each for share in shares]
        found = biases(batch, host, [*dict.fromkeys(points)], compiled=given.toy is None)
        for point, bias in zip(points, found, strict=False):
            name, role, task = batch.cell.method.name, batch.cell.role, batch.cell.task.name
            writer.writerow([name, role, task, point, "" if bias is None else f"{bias:.4f}"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
