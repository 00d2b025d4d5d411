"""Start bias: what a method believes a world is worth that never rewarded it.

    python benchmarks/start_bias.py minatar second-night --tasks breakout freeway

trains each method by a budget's schedule on rewards of zero and asks it at the task's query states,
after a quarter of the run and at its end (``--until``): the mean of its Q over states and actions,
in standard deviations of the climatology. The truth is 0. A support's middle, a prior's maximum or
a large initial weight shows here, and would be ranked as if it were the method.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import replace

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


def biases(batch: Batch, host: Host, points: list[int]) -> list[float | None]:
    """The mean of Q at each of some steps, in standard deviations of the climatology."""
    device = torch.device(batch.device)
    task = TaskEnvironment(batch, host, device)
    scorer = task.query_scorer()
    assert scorer is not None
    env = without_rewards(task.training_lanes())
    agent = make_agent(batch, host, env, device)
    capture = None
    if batch.budget.numerics == "compiled":
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
    given = parser.parse_args()
    prepare_process()
    host = Host.load()
    seeds = range(SEED, SEED + given.seeds)
    plan = make_plan(
        read_suites(host).suite(given.suite), host, given.budget, device=given.device,
        methods=given.methods, tasks=given.tasks, seeds=seeds,
    )  # fmt: skip
    writer = csv.writer(sys.stdout)
    writer.writerow(["method", "task", "step", "bias"])
    for group in make_batch_groups(plan, plan.runs, given.device, lanes=given.seeds):
        for batch in group:
            if batch.cell.role not in ("method", "unranked") or batch.cell.owns_loop:
                continue
            steps, each = batch.budget.steps, batch.budget.actors
            shares = sorted({min(0.25, given.until), given.until})
            points = [int(steps * share) // each * each for share in shares]
            for point, bias in zip(points, biases(batch, host, points), strict=True):
                name, task = batch.cell.method.name, batch.cell.task.name
                writer.writerow([name, task, point, "" if bias is None else f"{bias:.4f}"])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
