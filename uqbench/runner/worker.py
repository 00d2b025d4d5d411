"""Executing one batch, in the process that it is called in."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from uqbench.agent import Agent, EnvSpec, LoopAgent
from uqbench.config import resolve
from uqbench.environment import GymnasiumLanes, LaneEnv, TimeLimit
from uqbench.errors import UqbenchError
from uqbench.plugins import Host
from uqbench.results.provenance import provenance
from uqbench.results.record import RunRecord, Timing
from uqbench.results.scalars import scalar
from uqbench.results.store import Store, now, this_process
from uqbench.runner.batch import Batch
from uqbench.runner.evaluation import Policy, evaluate
from uqbench.runner.events import Event, Finished, Progress, Started
from uqbench.runner.loop import interact
from uqbench.runner.owned_loop import RecordedEnv, SinglePolicy, train
from uqbench.runner.recorder import Recorder

REPORT_SECONDS = 0.5
HEARTBEAT_SECONDS = 10.0


def execute(batch: Batch, store: Store, host: Host, report: Callable[[Event], None]) -> None:
    """Train, evaluate and store the runs of a batch.

    Args:
        batch: what to run.
        store: where the runs are kept; each is finished, or left as it was when an error is raised.
        host: the plugins.
        report: called with what happens.
    """
    task, budget, runs = batch.cell.task, batch.budget, batch.runs
    device = torch.device(batch.device)
    environment = host.environments[task.environment]
    agent_spec = host.agents[batch.cell.method.agent]
    record = _blank_record([environment.module, agent_spec.module], _device_name(device))

    def write_running(step: int) -> None:
        for run in runs:
            update = {"identity": dict(run.identity), "step": step, "updated": now()}
            store.write(run, record.model_copy(update=update))

    write_running(0)
    report(Started(batch))
    env = make_lanes(batch, host, [run.environment_seed for run in runs], device)
    spec = EnvSpec(
        observation=env.observation_space,
        n_actions=env.n_actions,
        discount=task.discount,
        total_steps=budget.steps,
        time_limit=task.time_limit,
        time_limit_is=task.time_limit_is,
    )
    recorder = Recorder(len(runs), budget.steps, environment.events, device)
    make_agent = agent_spec.load_factory()
    config, seeds = batch.cell.config, [run.agent_seed for run in runs]
    metrics_of: Callable[[], Mapping[str, Tensor]]
    policy: Policy
    if agent_spec.owns_loop:
        loop_agent: LoopAgent = make_agent(spec, config)
        policy, metrics_of = SinglePolicy(loop_agent), dict
    else:
        agent: Agent = make_agent(spec, seeds, config, device)
        policy, metrics_of = agent, agent.metrics
    began = reported = beaten = time.monotonic()
    latest: dict[str, Any] = {}

    def after_step(step: int) -> None:
        nonlocal reported, beaten, latest
        if step in recorder.due:
            latest = recorder.record(metrics_of())
        if budget.evaluation and _evaluation_due(step, budget.steps, budget.evaluation.every):
            episodes = budget.evaluation.episodes
            worlds = [run.evaluation_seed(m) for run in runs for m in range(episodes)]
            fresh = make_lanes(batch, host, worlds, device)
            recorder.evaluation(
                evaluate(policy, fresh, len(runs), episodes, budget.evaluation.max_steps)
            )
        clock = time.monotonic()
        if clock - reported >= REPORT_SECONDS:
            reported = clock
            by_seed = {
                run.seed: {name: float(values[lane]) for name, values in latest.items()}
                for lane, run in enumerate(runs)
            }
            report(Progress(batch, step, clock - began, by_seed))
        if clock - beaten >= HEARTBEAT_SECONDS:
            beaten = clock
            write_running(step)

    if agent_spec.owns_loop:
        recorded = RecordedEnv(env, budget.steps, recorder, after_step)
        train(loop_agent, recorded, budget.steps, seeds[0])
        after_step(budget.steps)
    else:
        interact(agent, env, budget.steps, recorder, after_step)
    seconds = time.monotonic() - began
    scalars: dict[int, dict[str, float | None]] = {}
    for run, (metrics, episodes_) in zip(runs, recorder.finish(), strict=True):
        scalars[run.seed] = {
            metric.name: scalar(
                metric,
                resolve(
                    host.risk_measures[metric.risk].load_config(),
                    metric.risk_config,
                    where=f"metrics.{metric.name}",
                ),
                episodes_,
                metrics,
                budget.steps,
            )
            for metric in batch.metrics
            if metric.kind == "online" or budget.evaluation
        }
        update = {
            "identity": dict(run.identity),
            "status": "finished",
            "step": budget.steps,
            "updated": now(),
            "timing": Timing(
                seconds=seconds, lanes=len(runs), steps_per_s=budget.steps * len(runs) / seconds
            ),
            "scalars": scalars[run.seed],
            "metrics": {metric.name: metric.definition() for metric in batch.metrics},
        }
        store.finish(run, record.model_copy(update=update), metrics, episodes_)
    report(Finished(batch, seconds, scalars))


def fail(batch: Batch, store: Store, reason: str, trace: str | None = None) -> None:
    """Mark the runs of a batch that did not finish as failed, with the reason."""
    for run in batch.runs:
        record = store.find(run).record or _blank_record((), "unknown")
        if record.status != "finished":
            update = {
                "identity": dict(run.identity),
                "status": "failed",
                "reason": reason,
                "traceback": trace,
                "updated": now(),
            }
            store.write(run, record.model_copy(update=update))


def _blank_record(packages: Sequence[str], device: str) -> RunRecord:
    return RunRecord(
        identity={},
        status="running",
        step=0,
        began=now(),
        updated=now(),
        process=this_process(),
        provenance=provenance(packages, device),
    )


def make_lanes(batch: Batch, host: Host, seeds: Sequence[int], device: torch.device) -> LaneEnv:
    """The task's environment with one lane a seed."""
    task = batch.cell.task
    spec = host.environments[task.environment]
    where = f"{batch.runs[0].suite}: tasks.{task.name}.options"
    options = resolve(spec.load_config(), task.options, where=where)
    limit = None if task.time_limit is None else TimeLimit(task.time_limit, task.time_limit_is)
    make = spec.load_factory()
    if spec.lanes:
        lanes = make(options, seeds, limit, device)
        if not isinstance(lanes, LaneEnv):
            raise UqbenchError(
                f"the environment {spec.name!r} says lanes=True and made a "
                f"{type(lanes).__name__}; expected a uqbench.environment.LaneEnv"
            )
        return lanes
    return GymnasiumLanes(lambda: make(options), seeds, limit, spec.events, device)


def _evaluation_due(step: int, steps: int, every: int | None) -> bool:
    return step == steps or (every is not None and step % every == 0)


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.processor() or platform.machine()}, numpy {np.__version__}"
