"""That a run is a function of its seed: repeated, asked, among other lanes, resumed."""

from collections.abc import Sequence
from typing import Any

import torch

from uqbench.contract.agent import Agent
from uqbench.testing.conformance.agent_runs import (
    SEEDS,
    AgentSubject,
    Trace,
    predictions,
    replay_step,
    same,
    through_a_file,
)
from uqbench.testing.conformance.check import Failed, Skipped, check


@check(AgentSubject, "agent-repeats", after=("agent-inputs",))
def repeats(subject: AgentSubject) -> None:
    """The same seeds make the same run, bit for bit.

    Two runs of the same seeds are equal.

    Fix:
        Derive every random number from the seeds; no clock, no hash(), no iteration over sets.
    """
    if subject.difference("read", "overwrite"):
        _no_difference(subject.run(SEEDS, 0), subject.baseline, "two runs of the same seeds")


@check(AgentSubject, "agent-pure", after=("agent-repeats",))
def pure(subject: AgentSubject) -> None:
    """`policy` and `uncertainty` change no state: asking leaves no trace in the run.

    The state before and after; a run that is asked at every step equals one that is not.

    Fix:
        Draw what a policy needs in act or observe, and keep caches out of policy.
    """
    trace = subject.baseline
    before = state_of(trace.agent)
    answers = predictions(trace.agent, trace.questions)
    if not same(before, state_of(trace.agent)):
        raise Failed("its state_dict() differs before and after policy and uncertainty")
    if not same(answers, predictions(trace.agent, trace.questions)):
        raise Failed("asked twice, the same agent answers differently")
    one = trace.agent.policy(trace.questions[:, 1:2])
    if not torch.equal(one, answers["policy"][:, 1:2]):
        raise Failed("the action for an observation depends on the other observations asked")
    if subject.difference("read", "overwrite"):
        difference = subject.difference("read")
        if difference:
            raise Failed(f"asked for its policy and uncertainty after every step, {difference}")


@check(AgentSubject, "agent-buffers", after=("agent-repeats",))
def buffers(subject: AgentSubject) -> None:
    """A step's tensors are overwritten after observe; an agent that keeps them keeps copies.

    With NaN in a step's tensors after ``observe`` the run is the same, a long one, too.

    Fix:
        Store step.obs.clone(), or put the step into a uqbench.lanes.ReplayBuffer.
    """
    difference = ""
    if subject.difference("read", "overwrite"):
        difference = subject.difference("overwrite")
    if not difference and subject.difference("overwrite", "long", "among"):
        difference = subject.difference("overwrite", "long")
    if difference:
        raise Failed(f"with a step's tensors overwritten after observe, {difference}")


def state_of(agent: Agent, which: str = "state_dict") -> Any:
    """A copy of its state; None where it has none to save, which another check says."""
    try:
        return through_a_file(getattr(agent, which)())
    except Exception:  # whatever a plugin raises
        return None


@check(AgentSubject, "agent-lanes", after=("agent-repeats",))
def lanes(subject: AgentSubject) -> None:
    """A lane does the same alone, among others and in any order, bit for bit.

    The lane of seed 5 in world 5: alone, second of two for a long time, first of two.

    Fix:
        No operation may combine values of different lanes: no mean over dimension 0, no shared
        optimizer state or generator; sums and products as in uqbench.lanes.numerics.
    """
    if subject.difference("overwrite", "long", "among"):
        difference = subject.difference("long", "among")
        if difference:
            raise Failed(f"{difference}, between alone and among others")
    _no_difference(subject.run([5, 3], 5).lane(0), subject.alone, "alone and in another order")


@check(AgentSubject, "agent-seeds", after=("agent-repeats",))
def seeds(subject: AgentSubject) -> None:
    """Lanes of different seeds differ, in the same world too.

    The same world with another seed is another run.

    Fix:
        Use seeds[i] for lane i; a method without any randomness is an expected failure.
    """
    if subject.role != "method":
        raise Skipped(f"its role is {subject.role!r}: it need not use its seed")
    if not subject.alone.difference(subject.run([1005], 5)):
        raise Failed("two seeds make the same run")


@check(
    AgentSubject, "agent-checkpoint", level="checkpointable", after=("agent-buffers", "agent-pure")
)
def checkpoint(subject: AgentSubject) -> None:
    """A run that resumes from state_dict() equals one that was never interrupted.

    Through a file, at ``stops``, against the same outcomes.

    Fix:
        Save everything that later steps depend on; the default saves attributes that are tensors,
        numbers, modules, optimizers and replay buffers.
    """
    trace = subject.baseline
    agent = subject.new()
    saved = {}
    for t in range(len(trace.stream)):
        if t in subject.stops:
            saved[t] = through_a_file(agent.state_dict())
        replay_step(agent, trace, t)
    for stop, state in saved.items():
        resumed = subject.new()
        resumed.load_state_dict(state)
        for t in range(stop, len(trace.stream)):
            action = replay_step(resumed, trace, t)
            if not torch.equal(action, trace.actions[t]):
                raise Failed(f"resumed at step {stop}, the actions differ at step {t}")
        for what, mine, whole in (
            ("metrics", resumed.metrics(), agent.metrics()),
            ("predictions", predictions(resumed, trace.questions), trace.predictions),
            ("states", resumed.state_dict(), agent.state_dict()),
        ):
            if not same(mine, whole):
                raise Failed(f"resumed at step {stop}, the {what} differ at the end")


def _no_difference(one: Trace, other: Trace, between: str) -> None:
    difference = one.difference(other)
    if difference:
        raise Failed(f"{difference}, between {between}")


def stops_of(steps: int, seed: int) -> Sequence[int]:
    """Two steps of a run at which it is interrupted, as a seed has it."""
    generator = torch.Generator().manual_seed(seed)
    return sorted(int(t) for t in torch.randperm(steps - 2, generator=generator)[:2] + 1)
