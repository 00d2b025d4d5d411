"""What a method that owns its loop must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from uqbench.contract.agent import LoopAgent
from uqbench.contract.environment import LaneEnv
from uqbench.runner.train.loop_agent import RecordedLanes, SinglePolicy, train
from uqbench.runner.train.recorder import Recorder
from uqbench.testing.conformance.check import Failed, Skipped, Subject, check

CPU = torch.device("cpu")


@dataclass(kw_only=True)
class LoopAgentSubject(Subject):
    """A method that owns its loop, and a world.

    Attributes:
        make: makes it.
        world: makes one world, the same each time, with a lane for each actor.
        steps: length of the runs.
        actors: K.
        several: the same with several actors, where it learns from them.
    """

    kind: ClassVar[str] = "loop agent"
    make: Callable[[], LoopAgent]
    world: Callable[[], LaneEnv]
    steps: int = 200
    actors: int = 1
    several: LoopAgentSubject | None = None

    def trained(self, seed: int) -> tuple[LoopAgent, list[list[int]], Any]:
        """A trained agent, its actions by actor, and the last observations ``[n, *obs]``."""
        actions: list[list[int]] = []
        seen: list[Any] = []
        lane = self.world()
        step = lane.step

        def noted(action: torch.Tensor) -> Any:
            outcome = step(action)
            actions.append(action.tolist())
            seen.append(outcome.obs[0].cpu().numpy().copy())
            return outcome

        lane.step = noted  # type: ignore[method-assign]
        agent = self.make()
        recorder = Recorder(1, self.steps, (), CPU, actors=self.actors)
        recorded = RecordedLanes(lane, self.steps, recorder, lambda _: None)
        train(agent, recorded, self.steps, seed, self.actors)
        return agent, actions, np.stack(seen[-8:])


@check(LoopAgentSubject, "loop-agent-trains")
def trains(subject: LoopAgentSubject) -> None:
    """`train` takes total_steps steps: the environment ends it, or it returns after the last.

    A whole run.

    Fix:
        Reset between episodes, take total_steps steps, let the environment's exception pass.
    """
    agent = subject.make()
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
    n_actions = subject.world().n_actions
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
    if subject.several is None:
        raise Skipped("it learns from one actor (AgentSpec.vector)")
    if subject.several.trained(7)[1] != subject.several.trained(7)[1]:
        raise Failed("two runs of the same seed act differently with three actors")
