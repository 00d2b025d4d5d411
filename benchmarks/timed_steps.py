"""Timing the steps of a batch, as a budget runs it."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import torch
from measure import seconds

from uqbench.contract.config import warm_up_field
from uqbench.registry.plugins import Host
from uqbench.runner.batches import Batch
from uqbench.runner.forecast import work
from uqbench.runner.train.agents import make_agent
from uqbench.runner.train.compiling import execute_as
from uqbench.runner.train.environments import TaskEnvironment
from uqbench.runner.train.loop import interact
from uqbench.runner.train.recorder import Recorder


def learning_at_once(batch: Batch) -> Batch:
    """The batch, whose agent learns from its first step on."""
    config = batch.cell.config
    if name := warm_up_field(config):
        config = replace(config, **{name: 1})
    return replace(batch, cell=replace(batch.cell, config=config))


def time_steps(batch: Batch, host: Host, least: float) -> float:
    """Steps per second of all lanes of a batch on a CPU, with gradient steps.

    Timed once the first ones have compiled and allocated.

    Args:
        batch: as planned, but its agent learns from the first steps on.
        host: the plugins.
        least: shortest time to measure, in seconds.
    """
    batch, device = learning_at_once(batch), torch.device("cpu")
    task = TaskEnvironment(batch, host, device)
    env = task.lanes(task.training_seeds)
    agent = make_agent(batch, host, env, device)
    execute_as(agent, batch.budget.numerics, partial(print, file=sys.stderr))
    actors, lanes, steps = batch.budget.actors, len(batch.runs), batch.budget.steps
    spec = host.environments[str(batch.cell.task.environment)]
    recorder = Recorder(lanes, steps, spec.events, device, actors=actors)
    warm, began, ended, last = min(max(8 * actors, 150), steps // 2), 0.0, 0.0, 0
    for position in interact(agent, env, steps, recorder, actors=actors):
        last, ended = position.step, seconds()
        if last <= warm:
            first, began = last, ended
        elif (
            ended - began > least
            and work(batch.cell.config, steps, first, last)
            and last >= 2 * warm
        ):
            break
    return lanes * (last - first) / (ended - began)
