"""Rules of every method that owns its loop."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from uqbench.contract.agent import LoopAgent
from uqbench.contract.environment import Outcome
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.recorder import Recorder
from uqbench_testing.conformance.agent_runs import ACTORS, CPU, Asked, Learner
from uqbench_testing.conformance.check import applies, check, expect, is_a

STEPS, QUESTIONS, ASKS = 200, 8, 26
Trained = tuple[LoopAgent, list[list[int]], torch.Tensor]


@dataclass(kw_only=True)
class LoopAgentSubject(Learner, kind="loop agent"):
    """A method that owns its loop."""

    def trained(self, seed: int, actors: int = 1) -> Trained:
        """A trained agent, its actions by actor, and the observations ``[n, *obs]``."""
        actions, seen = list[list[int]](), list[torch.Tensor]()
        lane, agent, steps = self.world(actors, 0), self.made(self.config, actors=actors), STEPS
        steps, step = steps - steps % actors, lane.step

        def noted(action: torch.Tensor) -> Outcome:
            outcome = step(action)
            actions.append(action.tolist())
            seen.append(outcome.obs[0].clone())
            return outcome

        lane.step = noted  # type: ignore[method-assign]
        recorder = Recorder(1, steps, (), CPU, actors=actors)
        train(agent, RecordedLanes(lane, steps, recorder, lambda _: None), steps, seed, actors)
        return agent, actions, torch.stack(seen)

    @cached_property
    def first(self) -> Trained:
        """A trained agent that others are compared with."""
        return self.trained(7)

    @cached_property
    def asked(self) -> Asked:
        """The trained agent, asked about one observation and several."""
        agent, _, seen = self.first
        return [("after learning", SinglePolicy(agent), seen[None, -n:]) for n in (1, QUESTIONS)]


@check(LoopAgentSubject, "loop-agent-trains")
def trains(subject: LoopAgentSubject) -> None:
    """`train` takes total_steps steps: the environment ends it, or it returns after the last.

    A whole run.

    Fix:
        Reset between episodes, take total_steps steps, let the environment's exception pass.
    """
    agent = subject.made(subject.config)
    is_a(agent, LoopAgent, "uqbench.agent.LoopAgent")
    SinglePolicy(agent)  # raises where its policy takes no valid actions
    _ = subject.first


@check(LoopAgentSubject, "loop-agent-policy", after=("loop-agent-trains",))
def policy(subject: LoopAgentSubject) -> None:
    """`policy` returns one of the actions 0 … A − 1 for one observation, and changes nothing.

    On eight observations of the run, each asked 26 times, in two orders: one that draws another
    action in one ask of twenty passes once in 30,000 times.

    Fix:
        Return int(action); no exploration in policy.
    """
    agent, _, seen = subject.first
    questions = seen[-QUESTIONS:].cpu().numpy()
    actions, answers = range(subject.world(1, 0).n_actions), []
    for obs in questions:
        action = agent.policy(obs.copy())
        expect(action in actions, f"policy returned {action!r}; expected one of 0 to {actions[-1]}")
        answers.append(int(action))
    for order in [slice(None, None, -1), slice(None)] * (ASKS // 2):
        again = [int(agent.policy(obs.copy())) for obs in questions[order]][order]
        expect(again == answers, "asked again, it acts differently")


@check(LoopAgentSubject, "loop-agent-repeats", after=("loop-agent-trains",))
def repeats(subject: LoopAgentSubject) -> None:
    """Two runs of the same seed are equal.

    Twice, with other global random states at the start.

    Fix:
        Seed every library that draws with the seed that train is given.
    """
    _, actions, _ = subject.first
    torch.rand(3)
    np.random.rand(3)  # noqa: NPY002
    expect(subject.trained(7)[1] == actions, "two runs of the same seed act differently")


@check(LoopAgentSubject, "loop-agent-seeds", after=("loop-agent-repeats",))
def seeds(subject: LoopAgentSubject) -> None:
    """Another seed makes another run.

    In the same world.

    Fix:
        Use the seed; a method without any randomness is an expected failure.
    """
    expect(subject.trained(8)[1] != subject.first[1], "two seeds act the same")


@check(LoopAgentSubject, "loop-agent-actors", after=("loop-agent-repeats",))
def with_actors(subject: LoopAgentSubject) -> None:
    """With K = 3 actors train steps a vector environment, and the same seed makes the same run.

    Fix:
        Take env.num_envs actions a step; or leave out AgentSpec(vector=True).
    """
    applies(subject.takes_actors, "it learns from one actor (AgentSpec.vector)")
    first, second = (subject.trained(7, ACTORS)[1] for _ in range(2))
    expect(first == second, "two runs of the same seed act differently with three actors")
