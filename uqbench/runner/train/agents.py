"""Training an agent: the lanes of a batch, from the first step to their columns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uqbench.agent import Agent, EnvironmentInfo, LoopAgent
from uqbench.environment import HasState, LaneEnv, OptimalQ, TimeLimit
from uqbench.errors import CannotSaveError, UqbenchError
from uqbench.lanes.networks import use_onednn
from uqbench.policy import Queried
from uqbench.registry.plugins import Host
from uqbench.results.columns import Columns, RunColumns
from uqbench.runner.batches import Batch
from uqbench.runner.checkpoints.checkpointer import Checkpointer
from uqbench.runner.checkpoints.files import UnusableError
from uqbench.runner.train.compiling import can_be_captured, compile_agent, cuda_graphs
from uqbench.runner.train.environments import lanes_of
from uqbench.runner.train.evaluation import evaluate
from uqbench.runner.train.exported_agents import exported_agent
from uqbench.runner.train.guards import check_metrics, check_uncertainty
from uqbench.runner.train.loop import Position, interact
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.recorder import Recorder, passed
from uqbench.specs import imported
from uqbench.suites.configs import task_config
from uqbench.uncertainty.interval_scores import score_return_distribution, score_uncertainty
from uqbench.uncertainty.monte_carlo_returns import MonteCarloSource
from uqbench.uncertainty.queries import QueryScorer
from uqbench.uncertainty.query_sources import ExactSource, QuerySource, RolloutSource

OnStep = Callable[[int, Mapping[str, NDArray[np.float64]]], None]
"""Called after every step with the steps taken and the latest recorded metrics ``[L]`` by name."""


def train_agent(
    batch: Batch,
    host: Host,
    device: torch.device,
    on_step: OnStep,
    checkpointer: Checkpointer,
    saved: Callable[[], Mapping[str, Any]] | None = None,
) -> Generator[None, None, list[RunColumns]]:
    """Train and evaluate the runs of a batch, yielding after every step.

    Args:
        batch: the runs, one a lane.
        host: the plugins.
        device: where to compute.
        on_step: called after every step.
        checkpointer: writes the checkpoints.
        saved: reads the one to resume from; None starts with the first step.

    Returns:
        What each run leaves behind.

    Raises:
        UnusableError: the runs cannot resume from what was saved.
        SystemExit: the process was asked to stop.
    """
    task, budget, runs = batch.cell.task, batch.budget, batch.runs
    environment = host.environments[str(task.environment)]
    env = make_training_lanes(batch, host, device)
    events, discount = environment.events, float(task.discount or 0.0)
    queries = query_scorer(batch, host, device)
    recorder = Recorder(
        len(runs), budget.steps, events, device, discount, environment.name, budget.actors
    )
    latest: Mapping[str, NDArray[np.float64]] = {}
    known = _optimal_q(batch, host, device)
    plan = budget.evaluation
    every = plan.every if plan and plan.every else budget.steps

    def see(step: int, agent: Queried, obs: Tensor) -> None:
        if recorder.due(step):
            check_uncertainty(agent, obs, env.n_actions, step)
        if queries is not None:
            queries.see(step, env, obs)

    def after(step: int, agent: Agent | SinglePolicy) -> None:
        nonlocal latest
        if queries is not None:
            for point in passed(queries.points, step, budget.actors):
                recorder.add(queries.score(agent, point), point)
        if records := recorder.due(step):
            latest = recorder.record(_metrics(agent, known, len(runs)), records)
        if plan and (
            step == budget.steps or passed(range(every, step + 1, every), step, budget.actors)
        ):
            seeds = [run.evaluation_seed(m) for run in runs for m in range(plan.episodes)]
            new = make_lanes(batch, host, seeds, device)
            recorder.evaluation(
                evaluate(agent, new, len(runs), plan.episodes, plan.max_steps, discount, events)
            )
        on_step(step, latest)

    def export(agent: Agent | SinglePolicy, obs: Tensor) -> list[bytes | None]:
        states: list[bytes | None] = []
        for lane, run in enumerate(runs):
            single: Agent | SinglePolicy
            if batch.cell.owns_loop:
                single = make_loop_agent(batch, host, env)
            else:
                single = make_agent(batch.of([run]), host, env, device)
            try:
                states.append(exported_agent(agent, single, lane, len(runs), obs))
            except CannotSaveError as error:
                checkpointer.notify(f"--keep-agents: not kept: {error}")
                return [None] * len(runs)
        return states

    exported: list[bytes | None] = [None] * len(runs)
    if batch.cell.owns_loop:
        single = make_loop_agent(batch, host, env)
        if queries is not None:
            queries.start(single)

        def after_step(step: int) -> None:
            see(step, single, recorded.obs[None])
            after(step, single)

        recorded = RecordedLanes(env, budget.steps, recorder, after_step)
        train(single.loop_agent, recorded, budget.steps, runs[0].agent_seed, budget.actors)
        after(budget.steps, single)
        if batch.keep_agents:
            exported = export(single, recorded.obs[None])
        yield
    else:
        agent = make_agent(batch, host, env, device)
        capture = None
        if budget.numerics == "compiled":
            compile_agent(agent)
            if can_be_captured(agent, env, device):
                capture = cuda_graphs()
        parts: dict[str, HasState] = {"agent": agent, "environment": env, "recorder": recorder}
        if queries is not None:
            parts["queries"] = queries
        start = None if saved is None else _load(saved(), parts)
        if queries is not None and start is None:
            queries.start(agent)
        with checkpointer.stop.deferred():
            position = start  # where it stays if the last step was saved
            steps = interact(agent, env, budget.steps, recorder, start, capture, budget.actors)
            for position in steps:
                see(position.step, agent, position.obs)
                after(position.step, agent)
                checkpointer.after(position.step, partial(_save, position, parts))
                yield
            if batch.keep_agents and position is not None:
                exported = export(agent, position.obs)
    asked: list[tuple[Columns | None, Columns | None]] = [(None, None)] * len(runs)
    if queries is not None:
        asked = list(zip(queries.curves.finish(), queries.predictions.finish(), strict=True))
    return [
        RunColumns(metrics, episodes, drawn, state, predictions)
        for (metrics, episodes), (drawn, predictions), state in zip(
            recorder.finish(), asked, exported, strict=True
        )
    ]


def make_agent(batch: Batch, host: Host, env: LaneEnv, device: torch.device) -> Agent:
    """The method's agent, written for lanes, with one lane per run."""
    make = host.agents[str(batch.cell.method.agent)].load_factory()
    seeds = [run.agent_seed for run in batch.runs]
    agent: Agent = make(_environment_info(batch, env), seeds, batch.cell.config, device)
    if batch.budget.actors > 1 and device.type == "cpu":
        use_onednn(vars(agent).values())
    return agent


def make_loop_agent(batch: Batch, host: Host, env: LaneEnv) -> SinglePolicy:
    """The method that owns its loop, untrained."""
    make = host.agents[str(batch.cell.method.agent)].load_factory()
    agent: LoopAgent = make(_environment_info(batch, env), batch.cell.config)
    return SinglePolicy(agent)


def _environment_info(batch: Batch, env: LaneEnv) -> EnvironmentInfo:
    task = batch.cell.task
    return EnvironmentInfo(
        observation_space=env.observation_space,
        n_actions=env.n_actions,
        discount=float(task.discount or 0.0),
        total_steps=batch.budget.steps,
        stacks_frames=env.stacks_frames,
        actors=batch.budget.actors,
    )


def query_scorer(batch: Batch, host: Host, device: torch.device) -> QueryScorer | None:
    """What asks the agents, where the budget says so.

    At exact truth, else at the task's query states, else at visited states of episodes as long as
    those of an evaluation.

    Raises:
        UqbenchError: the budget does not say how many visited states, or how long episodes are.
    """
    spec, budget = host.environments[str(batch.cell.task.environment)], batch.budget
    queries, runs, lanes = budget.queries, batch.runs, len(batch.runs)
    if queries is None:
        return None
    config, discount = _task_config(batch, host), float(batch.cell.task.discount or 0.0)
    exact_truth, query_states = imported(spec.exact_truth), imported(spec.queries)

    def make(seeds: Sequence[int]) -> LaneEnv:
        return make_lanes(batch, host, seeds, device)

    source: QuerySource
    if exact_truth is not None:
        exact = exact_truth(config, discount, [run.environment_seed for run in runs])
        source = ExactSource(exact, lanes, device)
    elif query_states is not None and (states := query_states(config)) is not None:
        source = RolloutSource(queries, states, runs, make, discount, budget.steps)
    elif queries.states is None or budget.evaluation is None:
        raise UqbenchError(
            f"task {batch.cell.task.name!r} has neither query states nor exact truth: to be scored "
            f"by realized returns its budget needs queries = {{ states = 64 }} and an 'evaluation' "
            f"table, whose max_steps are those of an episode"
        )
    else:
        longest = budget.evaluation.max_steps
        source = MonteCarloSource(runs, make, discount, queries.states, queries.tail, longest)
    return QueryScorer(source, lanes, budget.steps)


def _save(position: Position, parts: Mapping[str, HasState]) -> dict[str, Any]:
    state: dict[str, Any] = {"position": position._asdict()}
    for name, part in parts.items():
        try:
            state[name] = part.state_dict()
        except Exception as error:  # a plugin may raise anything; that is the reason
            raise CannotSaveError(f"the {name} cannot be saved: {error}") from error
    return state


def _load(state: Mapping[str, Any], parts: Mapping[str, HasState]) -> Position:
    missing = [name for name in (*parts, "position") if name not in state]
    if missing:
        raise UnusableError(f"it has no {' and no '.join(missing)}: another version wrote it")
    for name, part in parts.items():
        try:
            part.load_state_dict(state[name])
        except Exception as error:  # the same
            raise UnusableError(f"the {name} rejects its saved state: {error}") from error
    return Position(**state["position"])


def make_training_lanes(batch: Batch, host: Host, device: torch.device) -> LaneEnv:
    """The task's environment, one lane per run and actor, ``[L · K]``."""
    actors = range(batch.budget.actors)
    seeds = [run.actor_seed(actor) for run in batch.runs for actor in actors]
    return make_lanes(batch, host, seeds, device)


def make_lanes(batch: Batch, host: Host, seeds: Sequence[int], device: torch.device) -> LaneEnv:
    """The task's environment, one lane per seed."""
    task = batch.cell.task
    spec = host.environments[str(task.environment)]
    limit = None if task.time_limit is None else TimeLimit(task.time_limit, task.time_limit_is)
    return lanes_of(spec, _task_config(batch, host), seeds, limit, device)


def _task_config(batch: Batch, host: Host) -> Any:
    """The typed config of the task's environment."""
    task = batch.cell.task
    return task_config(task, host, where=f"{batch.runs[0].suite}: tasks.{task.name}")


def _optimal_q(batch: Batch, host: Host, device: torch.device) -> OptimalQ | None:
    """Ground truth for agents' predictions of Q, if the task's environment has it."""
    task = batch.cell.task
    spec = host.environments[str(task.environment)]
    solve = imported(spec.optimal_q)
    if solve is None:
        return None
    solved = solve(_task_config(batch, host), float(task.discount or 0.0))
    known = {name: part for name, part in vars(solved).items() if part is not None}
    return OptimalQ(**{name: part.to(device) for name, part in known.items()})


def _metrics(agent: Agent | SinglePolicy, known: OptimalQ | None, lanes: int) -> dict[str, Tensor]:
    """An agent's own metrics, and the scores of its predictions of Q where Q* is known."""
    metrics = dict(agent.metrics())
    check_metrics(agent, metrics, lanes)
    if known is not None:
        predicted = agent.uncertainty(known.obs.expand(lanes, *known.obs.shape))
        if predicted is not None:
            metrics |= score_uncertainty(predicted, known.values)
            if known.return_atoms is not None and known.return_probs is not None:
                metrics |= score_return_distribution(
                    predicted, known.return_atoms, known.return_probs
                )
    return metrics
