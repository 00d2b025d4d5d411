"""The climatology of a suite's query states: the reference of its scores of uncertainty.

    python benchmarks/climatology.py minatar paper script
    python benchmarks/climatology.py highway paper planner

prints, per task, mean and standard deviation of Q over all query states and actions, and the
standard deviation of returns; half of uniformly random play, half of the suite's named method,
which should be the best that learns nothing. They belong into the task's ``QueryStates``. The
rollouts' noise is subtracted.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import torch

from uqbench.contract.truth import Climatology, Truth
from uqbench.registry.plugins import Host
from uqbench.runner.batches import make_batch_groups
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites
from uqbench.suites.tables import Queries

CPU = torch.device("cpu")


def truth(suite_name: str, budget: str, method: str, task: str, queries: Queries) -> Truth:
    """What following a method is worth at a task's query states."""
    host = Host.load()
    suite = read_suites(host).suite(suite_name)
    plan = make_plan(suite, host, budget, device="cpu", methods=[method], tasks=[task], seeds=[0])
    [[batch]] = make_batch_groups(plan, plan.runs, "cpu", lanes=1)
    batch = replace(batch, budget=batch.budget.model_copy(update={"queries": queries}))
    environment = TaskEnvironment(batch, host, CPU)
    scorer = environment.query_scorer()
    assert scorer is not None
    agent = make_agent(batch, host, environment.lanes(environment.training_seeds), CPU)
    return scorer.source.truth(agent, batch.budget.steps)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("budget", help="one with all tasks; its queries do not count")
    parser.add_argument("method")
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--states", type=int, default=256)
    parser.add_argument("--rollouts", type=int, default=4)
    parser.add_argument("--tail", type=float, default=0.05)
    given = parser.parse_args()
    queries = Queries(states=given.states, rollouts=given.rollouts, tail=given.tail)
    suite = read_suites(Host.load()).suite(given.suite)
    for task in given.tasks or [task.name for task in suite.tasks]:
        truths = [
            truth(given.suite, given.budget, m, task, queries)
            for m in ("uniform-random", given.method)
        ]
        found = Climatology.of([(one.q, one.return_variance) for one in truths])
        std = (found.std**2 - sum(float(one.q_var.mean()) for one in truths) / 2) ** 0.5
        table = {"mean": found.mean, "std": std, "return_std": found.return_std}
        print(task, json.dumps({name: round(x, 4) for name, x in table.items()}), flush=True)


if __name__ == "__main__":
    main()
