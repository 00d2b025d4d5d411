"""What a method that owns its loop must do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from uqbench.contract.agent import LoopAgent
from uqbench.contract.environment import LaneEnv
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.recorder import Recorder
from uqbench.testing.conformance.agent_runs import ACTORS, CPU
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check

STEPS = 200


@dataclass(kw_only=True)
class LoopAgentSubject(Subject):
    """A method that owns its loop, and a world.

    Attributes:
        make: makes it for K actors.
        world: makes one world, the same each time, with a lane for each of K actors.
        takes_actors: whether it learns from several actors, too.
    """

    kind: ClassVar[str] = "loop agent"
    make: Callable[[int], LoopAgent]
    world: Callable[[int], LaneEnv]
    takes_actors: bool = False

    def trained(self, seed: int, actors: int = 1) -> tuple[LoopAgent, list[list[int]], Any]:
        """A trained agent, its actions by actor, and the last observations ``[n, *obs]``."""
        actions, seen = list[list[int]](), []
        lane, agent, steps = self.world(actors), self.make(actors), STEPS - STEPS % actors
        step = lane.step

        def noted(action: torch.Tensor) -> Any:
            outcome = step(action)
            actions.append(action.tolist())
            seen.append(outcome.obs[0].cpu().numpy().copy())
            return outcome

        lane.step = noted  # type: ignore[method-assign]
        recorder = Recorder(1, steps, (), CPU, actors=actors)
        train(agent, RecordedLanes(lane, steps, recorder, lambda _: None), steps, seed, actors)
        return agent, actions, np.stack(seen[-8:])


@check(LoopAgentSubject, "loop-agent-trains")
def trains(subject: LoopAgentSubject) -> None:
    """`train` takes total_steps steps: the environment ends it, or it returns after the last.

    A whole run.

    Fix:
        Reset between episodes, take total_steps steps, let the environment's exception pass.
    """
    agent = subject.make(1)
    if not isinstance(agent, LoopAgent):
        raise Failed(f"the factory made a {type(agent).__name__}, not a uqbench.agent.LoopAgent")
    SinglePolicy(agent)  # raises where its policy takes no valid actions
    subject.memory["first"] = subject.trained(7)


@check(LoopAgentSubject, "loop-agent-policy", after=("loop-agent-trains",))
def policy(subject: LoopAgentSubject) -> None:
    """`policy` returns one of the actions 0 … A − 1 for one observation, and changes nothing.

    On observations of the run, asked twice, in two orders.

    Fix:
        Return int(action); no exploration in policy.
    """
    agent, _, questions = subject.memory["first"]
    n_actions = subject.world(1).n_actions
    answers = []
    for obs in questions:
        action = agent.policy(obs.copy())
        if int(action) != action or not 0 <= int(action) < n_actions:
            raise Failed(f"policy returned {action!r}; expected one of 0 to {n_actions - 1}")
        answers.append(int(action))
    reversed_answers = [int(agent.policy(obs.copy())) for obs in questions[::-1]][::-1]
    if reversed_answers != answers:
        raise Failed("asked again in another order, it acts differently")


@check(LoopAgentSubject, "loop-agent-repeats", after=("loop-agent-trains",))
def repeats(subject: LoopAgentSubject) -> None:
    """The same seed makes the same run.

    Twice, with other global random states at the start.

    Fix:
        Seed every library that draws with the seed that train is given.
    """
    _, actions, _ = subject.memory["first"]
    torch.rand(3)
    np.random.rand(3)  # noqa: NPY002
    if subject.trained(7)[1] != actions:
        raise Failed("two runs of the same seed act differently")


@check(LoopAgentSubject, "loop-agent-seeds", after=("loop-agent-repeats",))
def seeds(subject: LoopAgentSubject) -> None:
    """Another seed makes another run.

    In the same world.

    Fix:
        Use the seed; a method without any randomness is an expected failure.
    """
    _, actions, _ = subject.memory["first"]
    if subject.trained(8)[1] == actions:
        raise Failed("two seeds act the same")


@check(LoopAgentSubject, "loop-agent-actors", after=("loop-agent-repeats",))
def with_actors(subject: LoopAgentSubject) -> None:
    """With K = 3 actors train steps a vector environment, and the same seed makes the same run.

    Fix:
        Take env.num_envs actions a step; or leave out AgentSpec(vector=True).
    """
    if not subject.takes_actors:
        raise Skipped("it learns from one actor (AgentSpec.vector)")
    if subject.trained(7, ACTORS)[1] != subject.trained(7, ACTORS)[1]:
        raise Failed("two runs of the same seed act differently with three actors")
