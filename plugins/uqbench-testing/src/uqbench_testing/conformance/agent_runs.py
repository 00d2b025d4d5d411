"""Agents as subjects: short runs of them, undisturbed and disturbed."""

from __future__ import annotations

import io
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from uqbench.contract.agent import Agent, EnvironmentInfo, Queried, Step
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.specs import Role
from uqbench.registry.side_effects import watched
from uqbench.runner.train.guards import check_action, check_range, copied
from uqbench.runner.train.loop import by_actor, reset_by_actor
from uqbench_testing.conformance.check import Failed, Subject, applies, located, once
from uqbench_testing.same_bits import apart, difference, same
from uqbench_testing.worlds import AFTER, RotatingPixels

QUESTIONS = 4
"""Number of observations on which predictions are compared."""
SEEDS = (3, 5)
"""Seeds of the run that others are compared with."""
ACTORS = 3
"""K of the runs with several actors."""
FORMS = ((1, 1), (1, 5), (3, 1), (3, 5))
"""Lanes and observations a lane, with which shapes are tried."""
CPU = torch.device("cpu")
Asked = list[tuple[str, Queried, Tensor]]
"""When an agent is asked, the agent, and the observations ``[L, M, *obs]``."""


@dataclass(frozen=True)
class Trace:
    """A run of an agent, as seen from outside.

    Attributes:
        agent: in its final state.
        actions: of each step, ``[L, K]``.
        metrics: after each step.
        stream: what it met at each step: observations, valid actions, and the outcome, copies,
            ``[L, K, …]``.
        questions: the last observations, ``[L, QUESTIONS · K, *obs]``.
        predictions: the policy and the uncertainty at the questions, ``[L, …]`` by name.
        written: what it wrote into of the tensors that it was given, at once or later.
    """

    agent: Agent
    actions: list[Tensor]
    metrics: list[dict[str, Tensor]]
    stream: list[tuple[Tensor, Tensor | None, Outcome]]
    questions: Tensor
    predictions: dict[str, Tensor]
    written: Sequence[str] = ()

    @property
    def seen(self) -> dict[str, Any]:
        """Actions, metrics and predictions."""
        return {name: getattr(self, name) for name in ("actions", "metrics", "predictions")}

    def difference(self, other: Trace) -> str:
        """The name of the first difference; empty where two runs of equal lanes are the same."""
        for name, own in self.seen.items():
            if differs := difference(own, other.seen[name], name):
                return f"{differs.where} differs"
        return ""

    def lane(self, lane: int) -> Trace:
        """The run of one lane."""
        return replace(self, **tree_map(lambda tensor: tensor[lane : lane + 1], self.seen))

    def replay(self, agent: Agent, t: int, outcome: Outcome | None = None) -> Tensor:
        """Let an agent act and observe at vector step ``t`` of the run; returns what it would do.

        It observes the action that was taken there, so that no small difference grows.

        Args:
            agent: any.
            t: the vector step.
            outcome: what it observes; None for the run's.
        """
        obs, valid, own = self.stream[t]
        action = agent.act(obs.clone(), copied(valid)).clone()
        agent.observe(step_of(obs, self.actions[t], own if outcome is None else outcome))
        return action

    def follow(self, agent: Agent, first: int) -> str:
        """The first difference of an agent that follows the run from vector step ``first``."""
        for t in range(first, len(self.stream)):
            if not torch.equal(self.replay(agent, t), self.actions[t]):
                return f"the actions differ at step {t}"
        alike = same(predictions(agent, self.questions), self.predictions)
        return "" if alike else "the predictions differ at the end"


Disturbance = Literal["read", "overwrite", "long", "among"]
"""A disturbance of a run: see :meth:`AgentSubject.difference`."""


@dataclass(kw_only=True)
class Learner(Subject, kind="uncertainty"):
    """An agent, written for lanes or with a loop of its own, and worlds to try it in.

    Attributes:
        factory: makes it, as its class does; or the name of that, ``"module:Class"``.
        config: the factory's argument of that name, whose steps pass within a short run.
        world: makes ``lanes`` worlds, numbered from ``first`` on, each a function of its number.
        info: what agents know about the world.
        role: trivial and oracle rows need not use their seeds, nor spare the device.
        takes_actors: whether it learns from several actors, too.
        calibrated: whether it says that its intervals are a posterior's.
    """

    factory: Callable[..., Any] | str
    config: Any = None
    world: Callable[[int, int], LaneEnv] = RotatingPixels
    info: EnvironmentInfo = field(default_factory=RotatingPixels.info)
    role: Role = "method"
    takes_actors: bool = False
    calibrated: bool = False

    def made(self, *told: Any, **known: Any) -> Any:
        """A new one; ``known``: what it is told otherwise about the world."""
        name = self.factory
        make: Callable[..., Any] = pkgutil.resolve_name(name) if isinstance(name, str) else name
        return make(replace(self.info, **known), *told)

    @cached_property
    def asked(self) -> Asked:
        """Agents at moments of their learning, and what they are asked about."""
        raise NotImplementedError

    def must(self, what: str) -> None:
        """Skip what trivial and oracle rows need not do."""
        applies(self.role == "method", f"its role is {self.role!r}: it need not {what}")


@dataclass(kw_only=True)
class AgentSubject(Learner, kind="agent"):
    """An agent written for lanes.

    Attributes:
        steps: length of the runs: with this config they must show everything: learning, a target
            network that is synced, a replay buffer that overflows.
        long: length of the runs for what begins late, such as what a full buffer forgets.
    """

    steps: int = 160
    long: int = 600

    @cached_property
    def asked(self) -> Asked:
        """New agents of each of :data:`FORMS`, and one before and after learning."""
        asked: Asked = [("after learning", self.baseline.agent, self.baseline.questions)]
        for lanes, queries in FORMS:
            obs, _ = self.world(lanes, 0).reset()
            several = obs[:, None].expand(lanes, queries, *obs.shape[1:])
            asked.append(("before learning", self.new(range(lanes)), several))
        return [*asked, ("before learning", self.new(), self.baseline.questions)]

    def new(self, seeds: Sequence[int] = SEEDS, device: torch.device = CPU, **known: Any) -> Agent:
        """A new one, one lane per seed; ``known``: what it is told otherwise about the world."""
        agent: Agent = self.made(list(seeds), self.config, device, **known)
        return agent

    @property
    def stops(self) -> tuple[int, int]:
        """Vector steps, early and late, after which a run resumes from its saved state."""
        n = self.steps // self.info.actors
        return n // 8, 7 * n // 11

    @cached_property
    def several(self) -> AgentSubject:
        """A subject with several actors.

        Raises:
            Skipped: it learns from one.
        """
        applies(self.takes_actors, "it learns from one actor (AgentSpec.actors)")
        info = replace(self.info, actors=ACTORS)
        return replace(self, info=info, long=self.steps, expected_failures={})

    @cached_property
    def watched(self) -> tuple[Trace, list[str]]:
        """A run that nothing disturbs, and the global defaults that it changed."""
        changed: list[str] = []
        with watched(changed):
            return self.run(SEEDS, 0), changed

    @property
    def baseline(self) -> Trace:
        """A run that nothing disturbs."""
        return self.watched[0]

    @cached_property
    def alone(self) -> Trace:
        """A run of one lane, of seed 5 in world 5."""
        return self.long_alone if self.long == self.steps else self.run([5], 5)

    @cached_property
    def long_alone(self) -> Trace:
        """A run of that lane, of ``long`` steps."""
        return self.run([5], 5, "long")

    @once
    def difference(self, *how: Disturbance) -> str:
        """The first difference that a disturbance makes to a run; empty where it makes none.

        Runs take time: ask for all disturbances at once, and for one by one where that differs.

        Args:
            how: *read*, predictions are asked for after every step; *overwrite*, a step's tensors
                are overwritten after ``observe``; *long*, it is one lane's run of ``long`` steps;
                *among*, that lane is the second of two.
        """
        lane = int("among" in how)
        seeds, first = ([3, 5], 4) if lane else ([5], 5) if "long" in how else (SEEDS, 0)
        try:
            trace = self.run(seeds, first, *how)
        except Exception as error:  # overwritten integers may be indices
            return f"it raised {type(error).__name__}: {located(error)}"
        if "long" in how:
            return trace.lane(lane).difference(self.long_alone)
        return trace.difference(self.baseline)

    def run(self, seeds: Sequence[int], first: int, *how: Disturbance) -> Trace:
        """Run a new agent in the worlds from ``first`` on, disturbed or not."""
        actors, agent = self.info.actors, self.new(seeds)
        env = self.world(len(seeds) * actors, first * actors)
        actions, metrics, stream = [], [], []
        lent: list[tuple[str, Tensor | None, Tensor | None]] = []  # a name, a clone, its values
        obs, valid = reset_by_actor(env, actors)
        for t in range(0, self.long if "long" in how else self.steps, actors):
            obs, valid = obs.clone(), copied(valid)
            given = obs.clone(), copied(valid)
            action = agent.act(*given)
            by = f"act with L = {len(seeds)}, K = {actors}"
            check_action(agent, action, (len(seeds), actors), t, by)
            check_range(agent, action, self.info.n_actions, t)
            action = action.clone()
            names = f"act's obs at step {t}", f"act's valid at step {t}"
            lent += zip(names, given, (obs, valid), strict=True)
            outcome = copy_of(env.step(action.flatten()), actors)
            step = step_of(obs, action, outcome)
            agent.observe(step)
            for name, before in vars(step_of(obs, action, outcome)).items():
                lent.append((f"the step's {name} at step {t}", getattr(step, name), before))
            actions.append(action)
            metrics.append({name: value.clone() for name, value in agent.metrics().items()})
            stream.append((obs, valid, outcome))
            if "read" in how:
                agent.policy(step.next_obs)
                agent.uncertainty(step.next_obs)
            if "overwrite" in how:
                _overwrite(step)
            obs, valid = outcome.obs, outcome.valid
        questions = torch.cat([obs for obs, *_ in stream[-QUESTIONS:]], 1)
        predicted = predictions(agent, questions)
        written = [what for what, tensor, before in lent if is_written(tensor, before)]
        return Trace(agent, actions, metrics, stream, questions, predicted, written)


def is_written(tensor: Tensor | None, before: Tensor | None) -> bool:
    """Whether a clone was written into since it was made, of no effect, or through NumPy, too."""
    return tensor is not None and (tensor._version > 0 or not same(tensor, before))


def _overwrite(step: Step) -> None:
    """As the harness does after ``observe``, but with values that no agent can use."""
    for value in (tensor for tensor in vars(step).values() if tensor is not None):
        if value.dtype == torch.bool:
            value.logical_not_()
        else:
            value.fill_(torch.nan if value.is_floating_point() else torch.iinfo(value.dtype).max)


def ends_as(one: Agent, other: Agent, how: str) -> None:
    """Fail where two agents' states and metrics differ at the end of a run."""
    if first := apart(one, other):
        raise Failed(f"{how}, its {first.where} differs at the end")


def predictions(agent: Agent, questions: Tensor) -> dict[str, Tensor]:
    """The policy and whatever is predicted at observations ``[L, M, *obs]``, by name."""
    predicted = agent.uncertainty(questions.clone())
    fields = {} if predicted is None else vars(predicted)
    known = {name: value.clone() for name, value in fields.items() if value is not None}
    return known | {"policy": agent.policy(questions.clone()).clone()}


def step_of(obs: Tensor, action: Tensor, outcome: Outcome) -> Step:
    """A step, in tensors that nobody else holds."""
    return Step(obs.clone(), action.clone(), *(copied(getattr(outcome, name)) for name in AFTER))


def copy_of(outcome: Outcome, actors: int | None = None) -> Outcome:
    """An outcome in tensors of its own: the environment overwrites its own.

    As the environment gave it, ``[L · K, …]``, or by actor, ``[L, K, …]``.
    """
    own = vars(outcome)
    if actors is not None:
        own = tree_map(lambda tensor: by_actor(tensor, actors), own)
    return Outcome(**tree_map(copied, own))


def through_a_file(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state after a round trip through a checkpoint's file."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


def state_of(agent: Agent, which: str = "state_dict") -> Any:
    """A copy of its state; None where it has none to save, which another check says."""
    try:
        return through_a_file(getattr(agent, which)())
    except Exception:  # whatever a plugin raises
        return None
