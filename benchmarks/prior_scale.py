"""The prior scale of each row: the standard deviation of Q that it states before any data.

    python benchmarks/prior_scale.py > benchmarks/prior_scale.csv

makes each row's agent for each task of a budget, on seeds that no board has, and asks it before any
data at the task's query states: the root mean squared epistemic standard deviation of Q over seeds,
states and actions, in units of return. "Prior scale 1" of a method's own setting is another size in
every method and for every shape of an observation; this one is the same for all.

``needed`` is the setting that gives the suite's value: variances add up, and that of a prior grows
with the square of its scale. Rows without a setting have no prior: heads that start unlike
each other, with what their initial weights make of them.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from uqbench.contract.environment import LaneEnv
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch, make_batch_groups
from uqbench.runner.executors.local import prepare_process
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.suites.plan import make_plan
from uqbench.suites.reading import read_suites

CPU = torch.device("cpu")
SEED = 20_000
"""The first seed; no board and no search has it."""
VALUES: dict[str, float | None] = {
    "profile": 1.0,  # a sea's treasure, and the standard deviation of a bandit's mean
    "features": None,
    "noise-and-ignorance": None,
    "offline-values": None,
    "offline-minatar": 1.0,  # a brick, or an alien
    "minatar": 0.25,  # targets are maxima of priors: more is not unlearned in a night
}
"""The standard deviation of Q that every prior of a suite starts with, in units of return.

None where worlds are drawn from a known law: that of Q under it, the task's climatology's, which is
what the exact posterior starts with, too.
"""
BUDGETS = {
    "profile": ("paper", "deep"),
    "features": ("quick",),
    "noise-and-ignorance": ("paper",),
    "offline-values": ("quick",),
    "offline-minatar": ("quick",),
    "minatar": ("night", "paper"),
}
"""Where it is measured: the start of a row is the same in every budget."""
SETTINGS = {
    "randomized-prior-dqn": "prior_scale",
    "jax-randomized-prior-dqn": "prior_scale",
    "epinet-dqn": "prior_scale",
    "hypermodel-dqn": "prior_scale",
    "uvu-dqn": "prior_scale",
    "bdqn": "prior_var",
    "ube-dqn": "initial_uncertainty",
}
"""The size of the prior of each agent that has one; the last two are variances."""
LEFT = {
    "minatar": ("randomized-prior-dqn", "hypermodel-dqn", "bdqn", "ube-dqn", "ube-dqn-150"),
    "offline-minatar": ("randomized-prior-dqn-by-game",),
}
"""Rows of other priors: their papers', of which claims and stored runs are, or another size."""
WITHOUT = ("bootstrapped-dqn", "ids-qr-dqn", "ua-dqn")
"""Agents that state an ignorance before any data that no setting of theirs is the size of."""


def held(suite: str, batch: Batch) -> bool:
    """Whether a row's prior has the suite's value."""
    cell = batch.cell
    return cell.method.agent in SETTINGS and cell.method.name not in LEFT.get(suite, ())


def batches(suite: str, host: Host, seeds: int, agents: Sequence[str]) -> Iterator[Batch]:
    """Batches of a suite's rows of some agents, all seeds of a task in one."""
    of = read_suites(host, check=()).suite(suite)
    for budget in BUDGETS[suite]:
        rows = [one.name for one in of.methods_of(budget) if one.agent in agents]
        if not rows:
            continue
        plan = make_plan(
            of, host, budget, seeds=range(SEED, SEED + seeds), methods=rows, device="cpu"
        )
        for group in make_batch_groups(plan, plan.runs, "cpu", lanes=seeds):
            for batch in group:
                if batch.cell.role in ("method", "unranked"):
                    yield batch


class Start:
    """What a task asks before any data.

    Args:
        batch: runs of any row on the task.
        host: the plugins.
    """

    def __init__(self, batch: Batch, host: Host) -> None:
        task = TaskEnvironment(batch, host, CPU)
        scorer = task.query_scorer()
        assert scorer is not None
        self.env: LaneEnv = task.lanes(task.training_seeds)
        self.climatology = scorer.source.climatology
        asked = scorer.source.obs(make_agent(small(batch), host, self.env, CPU), 0)
        assert asked is not None
        self.asked: Tensor = asked


def small(batch: Batch, **settings: Any) -> Batch:
    """The batch, whose agents store nothing, with other settings."""
    config = batch.cell.config
    config = dataclasses.replace(config, replay_capacity=config.batch_size, **settings)
    return dataclasses.replace(batch, cell=dataclasses.replace(batch.cell, config=config))


def prior_std(batch: Batch, host: Host, start: Start, **settings: Any) -> float:
    """The standard deviation of Q before any data, in units of return.

    Args:
        batch: runs of a row on a task, of an agent that states its ignorance.
        host: the plugins.
        start: of the task.
        settings: instead of the row's own.
    """
    agent = make_agent(small(batch, **settings), host, start.env, CPU)
    first = start.asked[:, :1].repeat_interleave(batch.budget.actors, 1)
    agent.act(first)  # UBE-DQN's initial uncertainty is that of its first state
    stated = agent.uncertainty(start.asked)
    assert stated is not None
    assert stated.epistemic_var is not None
    return float(stated.epistemic_var.double().mean().sqrt())


def needed(batch: Batch, host: Host, start: Start, value: float) -> float:
    """The setting of a row's prior that gives it a standard deviation ``value``."""
    name = SETTINGS[str(batch.cell.method.agent)]
    power = 2 if name == "prior_scale" else 1
    low, high = (prior_std(batch, host, start, **{name: one}) ** 2 for one in (1.0, 2.0))
    share = (high - low) / (2**power - 1)  # of a prior of size one
    return float(max(0.0, (value**2 - (low - share)) / share) ** (1 / power))


def value_of(suite: str, start: Start) -> float:
    """The standard deviation that priors have on a task."""
    value = VALUES[suite]
    if value is not None:
        return value
    assert start.climatology is not None
    return float(start.climatology[0].std)


def main() -> None:
    """Print the table as CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", nargs="*", default=list(VALUES))
    parser.add_argument("--seeds", type=int, default=32)
    given = parser.parse_args()
    prepare_process()
    host, writer = Host.load(), csv.writer(sys.stdout)
    writer.writerow(["suite", "task", "method", "setting", "prior_std", "value", "needed"])
    for suite in given.suites:
        starts: dict[str, Start] = {}
        for batch in batches(suite, host, given.seeds, (*SETTINGS, *WITHOUT)):
            cell, agent = batch.cell, str(batch.cell.method.agent)
            if cell.task.name not in starts:
                starts[cell.task.name] = Start(batch, host)
            start = starts[cell.task.name]
            setting, value, other = "", value_of(suite, start), ""
            if held(suite, batch):
                setting = getattr(cell.config, SETTINGS[agent])
                other = f"{needed(batch, host, start, value):.3g}"
            found = f"{prior_std(batch, host, start):.3g}"
            row = [suite, cell.task.name, cell.method.name, setting, found, f"{value:.3g}", other]
            writer.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
