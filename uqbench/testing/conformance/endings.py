"""How an episode's end enters what an agent learns."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from uqbench.contract.environment import Outcome
from uqbench.testing.conformance.agent_runs import AgentSubject, predictions, replay_step
from uqbench.testing.conformance.check import Failed, Skipped, Vacuous, check

SEED = 5
EVERY = 9
"""Steps between truncations: episodes of a run may be few."""
TOLERANCE = 1e-3
"""Relative: zero times another number may round differently where it is added."""

Edit = Callable[[int, Outcome], Outcome]
"""From a step and its outcome to what the agent is told of it."""


@check(AgentSubject, "agent-terminal", after=("agent-buffers",))
def terminal(subject: AgentSubject) -> None:
    """A terminal state's value is zero: what follows terminated does not matter.

    Another ``next_obs`` where an episode terminated changes nothing.

    Fix:
        Multiply the next value by ~step.terminated.
    """
    if not any(o.terminated.any() for *_, o in subject.alone.stream):
        raise Vacuous("no episode ended in its world")
    difference = _difference(subject, _elsewhere(subject, "terminated"))
    if difference:
        raise Failed(f"with another next_obs of terminated steps, {difference}")


@check(AgentSubject, "agent-truncation", after=("agent-terminal",))
def truncation(subject: AgentSubject) -> None:
    """A truncated episode bootstraps from next_obs: only terminated means nothing follows.

    Another ``next_obs`` where an episode was cut off shows, as anywhere else.

    Fix:
        Use step.terminated, not step.terminated | step.truncated, in the target.
    """
    if not any(o.terminated.any() for *_, o in subject.alone.stream):
        raise Vacuous("no episode ended in its world")
    if not _difference(subject, _elsewhere(subject, "within")):
        raise Skipped("it does not learn from next_obs")
    if not _difference(subject, _elsewhere(subject, "truncated")):
        raise Failed("another next_obs of truncated steps changes nothing: it does not bootstrap")


def _difference(subject: AgentSubject, edit: Edit) -> str:
    """How what an agent learns from edited steps differs; empty where it does not."""
    cut = subject.once("cut", lambda: _learned(subject, _half_cut(subject)))
    for name, value in _learned(subject, edit).items():
        other = cut[name].double()
        if not torch.allclose(
            value.double(), other, rtol=TOLERANCE, atol=TOLERANCE * 1e-3, equal_nan=True
        ):
            return f"{name} differs"
    return ""


def _learned(subject: AgentSubject, edit: Edit) -> dict[str, Tensor]:
    """Metrics of every step and predictions of a new agent that is told a run's steps.

    Actions count only where it reports nothing else, since they jump.
    """
    trace, agent = subject.alone, subject.new([SEED])
    metrics: dict[str, list[Tensor]] = {}
    actions = []
    for t, (*_, outcome) in enumerate(trace.stream):
        actions.append(replay_step(agent, trace, t, edit(t, outcome)))
        for name, value in agent.metrics().items():
            metrics.setdefault(f"the metric {name!r}", []).append(value.clone())
    learned = {name: torch.stack(values) for name, values in metrics.items()}
    predicted = predictions(agent, trace.questions)
    policy = predicted.pop("policy")
    learned |= {f"the predicted {name}": value for name, value in predicted.items()}
    if not learned:
        return {"its actions": torch.stack(actions), "its policy": policy}
    return learned


def _half_cut(subject: AgentSubject) -> Edit:
    """Every other ending is a truncation, and so is every ninth step, however episodes went on."""
    ends = [bool((o.terminated | o.truncated).any()) for *_, o in subject.alone.stream]
    nth = [sum(ends[: t + 1]) for t in range(len(ends))]

    def edit(t: int, outcome: Outcome) -> Outcome:
        cut = nth[t] % 2 == 0 if ends[t] else t % EVERY == EVERY - 1
        if not cut:
            return outcome
        return replace(
            outcome,
            terminated=torch.zeros_like(outcome.terminated),
            truncated=torch.ones_like(outcome.truncated),
        )

    return edit


def _elsewhere(subject: AgentSubject, where: str) -> Edit:
    """The same, with another observation of that world as ``next_obs`` at some of the steps."""
    other, _ = subject.world(1, SEED).reset()
    other, half_cut = other[:, None].clone(), _half_cut(subject)

    def edit(t: int, outcome: Outcome) -> Outcome:
        cut = half_cut(t, outcome)
        if where == "within":
            at = ~(cut.terminated | cut.truncated)
        else:
            at = cut.terminated if where == "terminated" else cut.truncated
        at = at.view(-1, *[1] * (other.ndim - 1))
        return replace(cut, next_obs=torch.where(at, other, cut.next_obs))

    return edit
