"""What asking for uncertainty costs: its share of a run, per task of a suite.

For every task the steps of a method are timed as its budget runs them, then the questions that the
budget asks at three points of training, with their rollouts. Both are of one core, of all lanes
together, and shown for one run. The agent is as it was after the timed steps, so its episodes may
be shorter than a trained one's; the last column has the same for rollouts none of which ends before
its cut, which is the most that any agent can cost.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from typing import TYPE_CHECKING, Any

from measure import ONE_THREAD, arguments, machine, positive, seconds, use_clock

from uqbench.runner.executors.local import ENVIRONMENT, prepare_process

if TYPE_CHECKING:
    from torch import Tensor

    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch


class Counting:
    """An agent's policy that counts the observations it is asked about, and the time it takes."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.seconds = 0.0
        self.rows = 0

    def uncertainty(self, obs: Tensor) -> Any:
        return self._agent.uncertainty(obs)

    def policy(self, obs: Tensor, valid: Tensor | None = None) -> Tensor:
        began = seconds()
        actions: Tensor = self._agent.policy(obs, valid)
        self.seconds += seconds() - began
        self.rows += obs.shape[0] * obs.shape[1]
        return actions


def batches(options: argparse.Namespace) -> tuple[Host, list[Batch]]:
    """A batch of the method on every task, as the budget has it."""
    from uqbench.registry.plugins import Host
    from uqbench.runner.batches import Batch
    from uqbench.suites.plan import make_plan
    from uqbench.suites.reading import read_suites

    host = Host.load()
    plan = make_plan(
        read_suites(host, check=()).suite(options.suite),
        host,
        options.budget,
        device="cpu",
        methods=[options.method],
        tasks=options.tasks,
        seeds=range(options.lanes),
    )
    made = []
    for cell in plan.cells:
        budget = plan.budget.on(cell.task)
        if options.tail is not None and budget.queries is not None:
            queries = budget.queries.model_copy(update={"tail": options.tail})
            budget = budget.model_copy(update={"queries": queries})
        made.append(Batch(cell, budget, plan.suite.metrics, "cpu"))
    return host, made


def measure(host: Host, batch: Batch, step_seconds: float) -> dict[str, Any]:
    """Seconds of one run, of one core, in training and in answering."""
    import torch
    from timed_steps import time_steps

    from uqbench.runner.train.agents import make_agent
    from uqbench.runner.train.environments import TaskEnvironment

    device, lanes = torch.device("cpu"), len(batch.runs)
    environment = TaskEnvironment(batch, host, device)
    scorer, queries = environment.query_scorer(), batch.budget.queries
    if scorer is None or queries is None:
        sys.exit(f"error: the budget asks nothing on {batch.cell.task.name}")
    torch.compiler.reset()
    steps_per_s = time_steps(batch, host, step_seconds)
    env = environment.lanes([run.environment_seed for run in batch.runs])
    agent = Counting(make_agent(batch, host, env, device))
    scorer.score(agent, min(scorer.points))  # visits the states and compiles kernels
    agent.seconds, agent.rows = 0.0, 0
    began = seconds()
    for step in sorted(scorer.points):
        scorer.score(agent, step)
    asked = (seconds() - began) / lanes
    training = batch.budget.steps * lanes / steps_per_s / lanes
    row: dict[str, Any] = {
        "task": batch.cell.task.name,
        "tail": queries.tail,
        "training_s": training,
        "asking_s": asked,
        "share": asked / training,
    }
    if agent.rows and queries.states and queries.rollouts:
        task = batch.cell.task
        cut = math.ceil(math.log(queries.tail) / math.log(float(task.discount or 0.0)))
        horizon = min(cut, task.time_limit or cut)
        early = queries.early_states or queries.states
        rollouts = env.n_actions * queries.rollouts * (queries.states + 2 * early)
        each = agent.seconds / agent.rows
        longest = asked + each * (rollouts * horizon - agent.rows / lanes)
        row |= {
            "policy_us": 1e6 * each,
            "at_most_s": longest,
            "share_at_most": longest / training,
        }
    return row


def main() -> None:
    parser = arguments(__doc__ or "", repeats=1)
    parser.add_argument("--suite", default="minatar")
    parser.add_argument("--budget", default="night")
    parser.add_argument("--method", default="dqn")
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--lanes", type=positive, default=5)
    parser.add_argument("--tail", type=float, help="not the budget's")
    parser.add_argument("--seconds", type=float, default=5.0, help="of steps, at least")
    options = parser.parse_args()
    os.environ.update(ONE_THREAD | ENVIRONMENT)
    os.sched_setaffinity(0, {options.core})
    use_clock(options.clock)
    prepare_process()
    host, made = batches(options)
    rows = []
    names = ("training_s", "asking_s", "share", "policy_us", "at_most_s", "share_at_most")
    print(f"| {' | '.join(('task', *names))} |\n| --- |{' ---: |' * len(names)}")
    for batch in made:
        rows.append(measure(host, batch, options.seconds))
        shown = (f"{rows[-1][name]:.3g}" if name in rows[-1] else "" for name in names)
        print(f"| {' | '.join((rows[-1]['task'], *shown))} |", flush=True)
    if options.json:
        found = {"command": sys.argv[1:], "rows": rows, "machine": machine()}
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
