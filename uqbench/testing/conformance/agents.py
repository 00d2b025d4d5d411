"""What an agent takes and returns: forms, masks, and nothing written to that is not its own."""

import copy
import dataclasses
import re
from typing import get_type_hints

import torch

from uqbench.contract.agent import Agent
from uqbench.contract.config import is_scheduled, scaled
from uqbench.runner.train.guards import check_action, check_metrics, check_range
from uqbench.runner.train.loop import reset_by_actor
from uqbench.testing.conformance.agent_runs import AgentSubject, copy_of, is_written, step_of
from uqbench.testing.conformance.check import Failed, Skipped, check, unchanged

FORMS = ((1, 1), (1, 5), (3, 1), (3, 5))
"""Lanes and observations a lane, with which shapes are tried."""
FORM_STEPS = 3
COUNTS = re.compile(r"(_steps|_starts|sync_period|warm_?up|burn_?in|anneal\w*|_?decay)$")
"""Names of whole numbers that count environment steps."""


@check(AgentSubject, "agent-forms")
def forms(subject: AgentSubject) -> None:
    """`act` returns int64 [L, K], `policy` [L, M], `metrics` [L]; all actions in 0 … A − 1.

    Shapes and dtypes for L = 1, 3 and M = 1, 5.

    Fix:
        Return one number per lane (and observation), whatever L and M are: no squeeze, no argmax
        without its dimension, no hard-coded 1.
    """
    n_actions = subject.info.n_actions
    for lanes, queries in FORMS:
        agent, env = subject.new(range(lanes)), subject.world(lanes, 0)
        if not isinstance(agent, Agent):
            raise Failed(f"the factory made a {type(agent).__name__}, not a uqbench.agent.Agent")
        obs, valid = reset_by_actor(env, 1)
        for t in range(FORM_STEPS):
            obs = obs.clone()
            action = agent.act(obs, valid)
            check_action(agent, action, (lanes, 1), t, f"act with L = {lanes}, K = 1")
            check_range(agent, action, n_actions, t)
            outcome = copy_of(env.step(action.flatten()), 1)
            agent.observe(step_of(obs, action, outcome))
            obs, valid = outcome.obs, outcome.valid
        asked = obs.expand(lanes, queries, *obs.shape[2:])
        action, where = agent.policy(asked), f"policy with L = {lanes}, M = {queries}"
        check_action(agent, action, (lanes, queries), FORM_STEPS, where)
        check_range(agent, action, n_actions, FORM_STEPS)
        check_metrics(agent, agent.metrics(), lanes)


@check(AgentSubject, "agent-global-state", after=("agent-forms",))
def global_state(subject: AgentSubject) -> None:
    """An agent leaves global random states, threads, default dtypes and gradient mode alone.

    Nothing global changes during a run.

    Fix:
        Draw from uqbench.lanes.Uniform, Normal or generators, which are functions of (seed,
        stream, step).
    """
    with unchanged("a run"):
        _ = subject.baseline


@check(AgentSubject, "agent-inputs", after=("agent-global-state",))
def inputs(subject: AgentSubject) -> None:
    """An agent does not write into the tensors that it is given, its step among them.

    Nothing is written into observations, masks and steps, at once or later, such as by clamp_ where
    all rewards are within its bounds. In a run each of them is a copy that nobody else reads.

    Fix:
        Copy before writing: obs.clone(), or an operation without the trailing underscore.
    """
    for written in subject.baseline.written:
        raise Failed(f"it wrote into {written}")
    agent, asked = subject.baseline.agent, subject.baseline.questions.clone()
    agent.policy(asked)
    agent.uncertainty(asked)
    if is_written(asked, subject.baseline.questions):
        raise Failed("policy or uncertainty wrote into its observations")


@check(AgentSubject, "agent-masks", after=("agent-forms",))
def masks(subject: AgentSubject) -> None:
    """Masked actions are never chosen, by act or by policy, also not by exploration.

    With one valid action there is one choice.

    Fix:
        Pass valid on to uqbench.lanes.greedy and epsilon_greedy, or mask before the argmax.
    """
    trace, n_actions = subject.baseline, subject.info.n_actions
    if subject.role != "method" and all(valid is None for _, valid, _ in trace.stream):
        raise Skipped(f"its role is {subject.role!r}, and its world has no masks")
    obs = trace.questions
    for only in range(n_actions):
        valid = torch.zeros(*obs.shape[:2], n_actions, dtype=torch.bool)
        valid[..., only] = True
        if not (trace.agent.policy(obs, valid) == only).all():
            raise Failed(f"policy chose another action than {only}, the only valid one")
        for agent in (subject.new(), copy.deepcopy(trace.agent)):
            if not (agent.act(obs[:, :1], valid[:, :1]) == only).all():
                raise Failed(f"act chose another action than {only}, the only valid one")


@check(AgentSubject, "agent-steps")
def steps(subject: AgentSubject) -> None:
    """Config fields that count environment steps are annotated as uqbench.contract.config.Steps.

    Fields with such names are scaled, and the config takes scaled values.

    Fix:
        Write `learning_starts: Steps = 5_000`; short budgets then scale it down.
    """
    config = subject.config
    if config is None or not dataclasses.is_dataclass(config):
        raise Skipped("its config is not known here")
    hints = get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        counts = COUNTS.search(field.name)
        whole = type(getattr(config, field.name)) is int
        if counts and whole and not is_scheduled(hints[field.name]):
            raise Failed(f"{type(config).__name__}.{field.name} is not annotated as Steps")
    scaled(config, 0.5)
