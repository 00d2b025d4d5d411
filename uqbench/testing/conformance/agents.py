"""What every agent written for lanes must do."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, get_type_hints

import torch
from torch import Tensor

from uqbench.agent import Agent, Step
from uqbench.config import is_scheduled, scaled
from uqbench.registry.side_effects import watched
from uqbench.testing.conformance.agent_runs import (
    CPU,
    SEEDS,
    AgentSubject,
    Trace,
    predictions,
    same,
    step_of,
    through_a_file,
    twin,
)
from uqbench.testing.conformance.check import Failed, Skipped, check

FORMS = ((1, 1), (1, 5), (3, 1), (3, 5))
"""Lanes and observations a lane, with which shapes are tried."""
FORM_STEPS = 3
FIRST = ("agent-forms",)
SOUND = (*FIRST, "agent-global-state", "agent-inputs")


@check(
    AgentSubject,
    "agent-forms",
    rule="act returns int64 [L], policy int64 [L, M], metrics [L]; every action is in 0 … A − 1.",
    fix="Return one number a lane (and observation), whatever L and M are: no squeeze, no argmax "
    "without its dimension, no hard-coded 1.",
)
def forms(subject: AgentSubject) -> None:
    """Shapes and dtypes for L = 1, 3 and M = 1, 5."""
    n_actions = subject.info.n_actions
    for lanes, queries in FORMS:
        agent, env = subject.make(range(lanes), CPU), subject.world(lanes, 0)
        if not isinstance(agent, Agent):
            raise Failed(f"the factory made a {type(agent).__name__}, not a uqbench.agent.Agent")
        obs, valid = env.reset()
        for t in range(FORM_STEPS):
            obs = obs.clone()
            action = agent.act(obs, valid)
            _actions(action, (lanes,), n_actions, f"act with L = {lanes}")
            outcome = env.step(action)
            agent.observe(step_of(t, obs, action, outcome))
            obs, valid = outcome.obs, outcome.valid
        asked = obs[:, None].expand(lanes, queries, *obs.shape[1:])
        where = f"policy with L = {lanes}, M = {queries}"
        _actions(agent.policy(asked), (lanes, queries), n_actions, where)
        for name, value in agent.metrics().items():
            if not isinstance(value, Tensor) or value.shape != (lanes,):
                form = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise Failed(f"the metric {name!r} is {form} with L = {lanes}; expected ({lanes},)")


def _actions(action: Any, shape: tuple[int, ...], n_actions: int, what: str) -> None:
    if not isinstance(action, Tensor):
        raise Failed(f"{what} returned a {type(action).__name__}; expected a tensor")
    if tuple(action.shape) != shape or action.dtype != torch.int64:
        raise Failed(
            f"{what} returned {action.dtype} {tuple(action.shape)}; expected torch.int64 {shape}"
        )
    if ((action < 0) | (action >= n_actions)).any():
        raise Failed(f"{what} returned the actions {action.tolist()}; there are {n_actions}")


@check(
    AgentSubject,
    "agent-global-state",
    rule="An agent leaves global random states, threads, default dtypes and gradient mode alone.",
    fix="Draw from uqbench.lanes.Uniform, Normal or generators, which are functions of "
    "(seed, stream, step).",
    after=FIRST,
)
def global_state(subject: AgentSubject) -> None:
    """Nothing global changes during a run."""
    changed: list[str] = []
    with watched(changed):
        _ = subject.baseline
    if changed:
        raise Failed(f"a run changed {', '.join(changed)}")


@check(
    AgentSubject,
    "agent-inputs",
    rule="An agent does not write into the tensors that it is given.",
    fix="Copy before writing: obs.clone(), or an operation without the trailing underscore.",
    after=FIRST,
)
def inputs(subject: AgentSubject) -> None:
    """Observations, masks and steps are the same after a call as before it."""
    agent, env = subject.make(SEEDS, CPU), subject.world(len(SEEDS), 0)
    obs, valid = env.reset()
    for t in range(min(subject.steps, 60)):
        obs, valid = obs.clone(), None if valid is None else valid.clone()
        before = (obs.clone(), None if valid is None else valid.clone())
        action = agent.act(obs, valid).clone()
        if not same([obs, valid], list(before)):
            raise Failed(f"act wrote into its observations or mask at step {t}")
        outcome = env.step(action)
        step = step_of(t, obs, action, outcome)
        kept = step_of(t, obs, action, outcome)
        agent.observe(step)
        for field in dataclasses.fields(Step):
            if not same([getattr(step, field.name)], [getattr(kept, field.name)]):
                raise Failed(f"observe wrote into step.{field.name} at step {t}")
        obs, valid = outcome.obs, outcome.valid
    asked = obs[:, None].clone()
    agent.policy(asked)
    agent.uncertainty(asked)
    if not same(asked, obs[:, None]):
        raise Failed("policy or uncertainty wrote into its observations")


@check(
    AgentSubject,
    "agent-masks",
    rule="Masked actions are never chosen, by act or by policy, also not by exploration.",
    fix="Pass valid on to uqbench.lanes.greedy and epsilon_greedy, or mask before the argmax.",
    after=FIRST,
)
def masks(subject: AgentSubject) -> None:
    """With one valid action there is one choice."""
    trace, n_actions = subject.baseline, subject.info.n_actions
    if subject.role != "method" and all(valid is None for _, valid, _ in trace.stream):
        raise Skipped(f"its role is {subject.role!r}, and its world has no masks")
    obs = trace.questions
    for only in range(n_actions):
        valid = torch.zeros(*obs.shape[:2], n_actions, dtype=torch.bool)
        valid[..., only] = True
        if not (trace.agent.policy(obs, valid) == only).all():
            raise Failed(f"policy chose another action than {only}, the only valid one")
        for agent in (subject.make(SEEDS, CPU), twin(trace.agent)):
            if not (agent.act(obs[:, 0], valid[:, 0]) == only).all():
                raise Failed(f"act chose another action than {only}, the only valid one")


@check(
    AgentSubject,
    "agent-repeats",
    rule="The same seeds make the same run, bit for bit.",
    fix="Derive every random number from the seeds; no clock, no hash(), no iteration over sets.",
    after=SOUND,
)
def repeats(subject: AgentSubject) -> None:
    """Two runs of the same seeds are equal."""
    if _disturbed(subject, read=True, poison=True):
        _no_difference(subject.run(SEEDS, 0), subject.baseline, "two runs of the same seeds")


@check(
    AgentSubject,
    "agent-pure",
    rule="policy and uncertainty change no state: asking leaves no trace in the run.",
    fix="Draw what a policy needs in act or observe, and keep caches out of policy.",
    after=(*SOUND, "agent-repeats"),
)
def pure(subject: AgentSubject) -> None:
    """A run that is asked at every step equals one that is not."""
    trace = subject.baseline
    answers = predictions(trace.agent, trace.questions)
    if not same(answers, predictions(trace.agent, trace.questions)):
        raise Failed("asked twice, the same agent answers differently")
    one = trace.agent.policy(trace.questions[:, 1:2])
    if not torch.equal(one, answers["policy"][:, 1:2]):
        raise Failed("the action for an observation depends on the other observations asked")
    if _disturbed(subject, read=True, poison=True):
        difference = _disturbed(subject, read=True, poison=False)
        if difference:
            raise Failed(f"asked for its policy and uncertainty after every step, {difference}")


@check(
    AgentSubject,
    "agent-buffers",
    rule="A step's tensors are overwritten after observe; an agent that keeps them keeps copies.",
    fix="Store step.obs.clone(), or put the step into a uqbench.lanes.ReplayBuffer.",
    after=(*SOUND, "agent-repeats"),
)
def buffers(subject: AgentSubject) -> None:
    """With NaN in a step's tensors after ``observe`` the run is the same."""
    if _disturbed(subject, read=True, poison=True):
        difference = _disturbed(subject, read=False, poison=True)
        if difference:
            raise Failed(f"with a step's tensors overwritten after observe, {difference}")


def _disturbed(subject: AgentSubject, *, read: bool, poison: bool) -> str:
    """How a run differs from the baseline that is asked, or whose steps are overwritten."""

    def visit(agent: Agent, step: Step) -> None:
        if read:
            agent.policy(step.next_obs[:, None])
            agent.uncertainty(step.next_obs[:, None])
        if poison:
            for field in dataclasses.fields(Step):
                value = getattr(step, field.name)
                if isinstance(value, Tensor):
                    _poison(value)

    key = f"disturbed {read} {poison}"
    if key not in subject.memory:
        subject.memory[key] = _caught(subject, visit)
    return str(subject.memory[key])


def _caught(subject: AgentSubject, visit: Any) -> str:
    try:
        return subject.run(SEEDS, 0, visit=visit).difference(subject.baseline)
    except Exception as error:  # overwritten integers may be indices
        return f"it raised {type(error).__name__}: {error}"


def _poison(tensor: Tensor) -> None:
    if tensor.dtype.is_floating_point:
        tensor.fill_(float("nan"))
    elif tensor.dtype == torch.bool:
        tensor.logical_not_()
    else:
        tensor.fill_(torch.iinfo(tensor.dtype).max)


@check(
    AgentSubject,
    "agent-lanes",
    rule="A lane does the same alone, among others and in any order, bit for bit.",
    fix="Nothing may mix lanes: no mean over dimension 0, no shared optimizer state or generator; "
    "sums and products as in uqbench.lanes.numerics.",
    after=(*SOUND, "agent-repeats"),
)
def lanes(subject: AgentSubject) -> None:
    """The lane of seed 5 in world 5: alone, second of three, first of two."""
    alone = subject.alone
    _no_difference(subject.run([3, 5, 8], 4).lane(1), alone, "alone and among others")
    _no_difference(subject.run([5, 3], 5).lane(0), alone, "alone and in another order")


@check(
    AgentSubject,
    "agent-seeds",
    rule="Lanes of different seeds differ, in the same world too.",
    fix="Use seeds[i] for lane i; a method without any randomness is an expected failure.",
    after=(*SOUND, "agent-repeats"),
)
def seeds(subject: AgentSubject) -> None:
    """The same world with another seed is another run."""
    if subject.role != "method":
        raise Skipped(f"its role is {subject.role!r}: it need not use its seed")
    if not subject.alone.difference(subject.run([1005], 5)):
        raise Failed("two seeds make the same run")


@check(
    AgentSubject,
    "agent-steps",
    rule="Config fields that count environment steps are annotated as uqbench.config.Steps.",
    fix="Write `learning_starts: Steps = 5_000`; short budgets then scale it down.",
)
def steps(subject: AgentSubject) -> None:
    """Fields with such names are scaled, and the config takes scaled values."""
    config = subject.config
    if config is None or not dataclasses.is_dataclass(config):
        raise Skipped("its config is not known here")
    hints = get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        counts = re.search(r"(_steps|_starts|sync_period)$", field.name)
        whole = type(getattr(config, field.name)) is int
        if counts and whole and not is_scheduled(hints[field.name]):
            raise Failed(f"{type(config).__name__}.{field.name} is not annotated as Steps")
    scaled(config, 0.5)


@check(
    AgentSubject,
    "agent-checkpoint",
    level="checkpointable",
    rule="A run that resumes from state_dict() equals one that was never interrupted.",
    fix="Save everything that later steps depend on; the default saves attributes that are "
    "tensors, numbers, modules, optimizers and replay buffers.",
    after=(*SOUND, "agent-repeats", "agent-buffers", "agent-pure"),
)
def checkpoint(subject: AgentSubject) -> None:
    """Through a file, at ``stops``, against the same outcomes."""
    trace = subject.baseline
    agent = subject.make(SEEDS, CPU)
    saved = {}
    for t in range(len(trace.stream)):
        if t in subject.stops:
            saved[t] = through_a_file(agent.state_dict())
        _take(agent, trace, t)
    for stop, state in saved.items():
        resumed = subject.make(SEEDS, CPU)
        resumed.load_state_dict(state)
        for t in range(stop, len(trace.stream)):
            action = _take(resumed, trace, t)
            if not torch.equal(action, trace.actions[t]):
                raise Failed(f"resumed at step {stop}, the actions differ at step {t}")
        if not same(dict(resumed.metrics()), dict(agent.metrics())):
            raise Failed(f"resumed at step {stop}, the metrics differ at the end")
        if not same(predictions(resumed, trace.questions), trace.predictions):
            raise Failed(f"resumed at step {stop}, the predictions differ at the end")
        if not same(resumed.state_dict(), agent.state_dict()):
            raise Failed(f"resumed at step {stop}, the states differ at the end")


def _take(agent: Agent, trace: Trace, t: int) -> Tensor:
    obs, valid, outcome = trace.stream[t]
    action = agent.act(obs.clone(), None if valid is None else valid.clone()).clone()
    agent.observe(step_of(t, obs, trace.actions[t], outcome))
    return action


def _no_difference(one: Trace, other: Trace, between: str) -> None:
    difference = one.difference(other)
    if difference:
        raise Failed(f"{difference}, between {between}")


def stops_of(steps: int, seed: int) -> Sequence[int]:
    """Two steps of a run at which it is interrupted, as a seed has it."""
    generator = torch.Generator().manual_seed(seed)
    return sorted(int(t) for t in torch.randperm(steps - 2, generator=generator)[:2] + 1)
