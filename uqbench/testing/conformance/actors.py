"""That actors are copies of an environment, each with its own episodes, and feed one learner."""

import copy
from dataclasses import replace
from typing import Any

import torch

from uqbench.contract.agent import Agent
from uqbench.lanes import ReplayBuffer
from uqbench.runner.train.guards import check_action, check_metrics
from uqbench.testing.conformance.agent_runs import SEEDS, AgentSubject, replay_step, same, step_of
from uqbench.testing.conformance.check import Failed, Skipped, check
from uqbench.testing.conformance.repeatability import checkpoint, lanes, state_of

ACTORS = 3
"""K of the runs with several actors."""
CHANGED = 0.02
"""Largest share of actions that may change by what an agent learns from one other example."""


def _several(subject: AgentSubject) -> AgentSubject:
    if subject.several is None:
        raise Skipped("it learns from one actor (AgentSpec.actors)")
    return subject.several


@check(AgentSubject, "agent-actors", after=("agent-lanes", "agent-checkpoint"))
def with_actors(subject: AgentSubject) -> None:
    """With K = 3 actors, too, act returns [L, K], and a lane does the same alone and resumed.

    Forms, lanes, and resumption, which needs a state_dict, with K = 3.

    Fix:
        Tensors of training are [L, K, …], whatever K is; steps count those of all actors; or say
        AgentSpec(actors=False).
    """
    several = _several(subject)
    trace, shape = several.baseline, (len(SEEDS), ACTORS)
    check_metrics(trace.agent, trace.metrics[-1], len(SEEDS))
    check_action(trace.agent, trace.actions[-1], shape, several.steps, "act")
    lanes(several)
    if subject.role == "method":
        checkpoint(several)


@check(AgentSubject, "agent-mixes-actors", after=("agent-actors",))
def mixes(subject: AgentSubject) -> None:
    """What an actor does depends on its own observations and episodes, and on the learner.

    Another observation of the first actor, or another end of its episode, alone. With other rewards
    of it replay buffers hold the same of the others, until the agent has learned from them.

    Fix:
        Episodes are an actor's own: a head or a window of steps for each, [L, K]; observations are
        never averaged over actors, rewards never summed.
    """
    several = _several(subject)
    trace, agent, paid = several.baseline, several.new(), several.new()
    changed, asked, untaught = 0, 0, True
    for t, (obs, valid, outcome) in enumerate(trace.stream[:-1]):
        other = obs.clone()
        other[:, 0] = trace.stream[t - 1][0][:, 0]
        plain, swapped = (copy.deepcopy(agent).act(o.clone(), valid) for o in (obs, other))
        if not torch.equal(plain[:, 1:], swapped[:, 1:]):
            raise Failed(
                f"with another observation of the first actor, the others act otherwise at step "
                f"{t * ACTORS}"
            )
        if t % 4 == 0:
            ends, following = outcome.truncated.clone(), trace.stream[t + 1]
            ends[:, 0] ^= ~outcome.terminated[:, 0]
            actions = []
            for truncated in (outcome.truncated, ends):
                one = copy.deepcopy(agent)
                one.act(obs.clone(), valid)
                cut = replace(outcome, truncated=truncated)
                one.observe(step_of(obs, trace.actions[t], cut))
                actions.append(one.act(following[0].clone(), following[1])[:, 1:])
            changed += int((actions[0] != actions[1]).sum())
            asked += actions[0].numel()
        reward = outcome.reward.clone()
        reward[:, 0] += 1
        replay_step(agent, trace, t)
        if untaught:
            replay_step(paid, trace, t, replace(outcome, reward=reward))
            untaught = same(*(state_of(one, "exported_state") for one in (agent, paid)))
        if untaught and not same(_of_others(agent), _of_others(paid)):
            raise Failed(
                f"with other rewards of the first actor, another's transitions are stored "
                f"otherwise after step {t * ACTORS}: n-step returns cross actors"
            )
    if changed > CHANGED * asked:
        raise Failed(
            f"where the first actor's episode ends, or does not, the others' next actions differ: "
            f"{changed} of {asked}"
        )


def _of_others(agent: Agent) -> list[Any]:
    """What its replay buffers hold of all actors but the first."""
    buffers = [value for value in vars(agent).values() if isinstance(value, ReplayBuffer)]
    slots = [torch.arange(len(buffer)).expand(len(SEEDS), -1) for buffer in buffers]
    return [b.gather(i[:, i[0] % ACTORS > 0]) for b, i in zip(buffers, slots, strict=True)]
