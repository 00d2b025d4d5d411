"""Agents as subjects: short runs of them, undisturbed and disturbed, and what they leave behind."""

from __future__ import annotations

import io
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.specs import Role
from uqbench.runner.train.guards import chosen, copied
from uqbench.runner.train.loop import by_actor, reset_by_actor
from uqbench.testing.conformance.check import Skipped, Subject, located, once
from uqbench.testing.same_bits import difference
from uqbench.testing.worlds import RotatingPixels

QUESTIONS = 4
"""Number of observations on which predictions are compared."""
SEEDS = (3, 5)
"""Of the run that others are compared with."""
ACTORS = 3
"""K of the runs with several actors."""
CPU = torch.device("cpu")


Lent = tuple[str, Tensor | None, Tensor | None]
"""A clone that an agent was given: what it is called, the clone, and its values."""


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

    def difference(self, other: Trace) -> str:
        """The name of the first difference; empty where two runs of equal lanes are the same."""
        for what in ("actions", "metrics", "predictions"):
            differs = difference(getattr(self, what), getattr(other, what), what)
            if differs is not None:
                return f"{differs.where} differs"
        return ""

    def lane(self, lane: int) -> Trace:
        """The same run of one lane."""
        names = "actions", "metrics", "predictions"
        parts = {name: getattr(self, name) for name in names}
        return replace(self, **tree_map(lambda tensor: tensor[lane : lane + 1], parts))

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
"""Of a run: see :meth:`AgentSubject.difference`."""


@dataclass(kw_only=True)
class AgentSubject(Subject):
    """An agent written for lanes, and worlds to try it in.

    Attributes:
        factory: makes it of an :class:`~uqbench.contract.agent.EnvironmentInfo`, seeds, the config
            and a device, as its class does; or the name of that, ``"module:Class"``.
        config: the factory's third argument, whose steps pass within a short run.
        world: makes ``lanes`` worlds, numbered from ``first`` on, each a function of its number.
        info: what agents know about the world.
        role: trivial and oracle rows need not use their seeds, nor spare the device.
        takes_actors: whether it learns from several actors, too.
        steps: length of the runs: with this config they must show everything: learning, a target
            network that is synced, a replay buffer that overflows.
        long: length of the runs for what begins late, such as what a full buffer forgets.
        calibrated: whether it says that its intervals are a posterior's.
    """

    kind: ClassVar[str] = "agent"
    factory: Callable[..., Agent] | str
    config: Any = None
    world: Callable[[int, int], LaneEnv] = RotatingPixels
    info: EnvironmentInfo = field(default_factory=RotatingPixels.info)
    role: Role = "method"
    takes_actors: bool = False
    steps: int = 160
    long: int = 600
    calibrated: bool = False

    def new(self, seeds: Sequence[int] = SEEDS, device: torch.device = CPU, **known: Any) -> Agent:
        """A new one, one lane per seed; ``known``: what it is told otherwise about the world."""
        name = self.factory
        make: Callable[..., Agent] = pkgutil.resolve_name(name) if isinstance(name, str) else name
        return make(replace(self.info, **known), list(seeds), self.config, device)

    @property
    def stops(self) -> tuple[int, int]:
        """Vector steps, early and late, after which a run resumes from its saved state."""
        n = self.steps // self.info.actors
        return n // 8, 7 * n // 11

    @property
    @once
    def several(self) -> AgentSubject:
        """The same agent with several actors.

        Raises:
            Skipped: it learns from one.
        """
        if not self.takes_actors:
            raise Skipped("it learns from one actor (AgentSpec.actors)")
        info = replace(self.info, actors=ACTORS)
        return replace(self, info=info, long=self.steps, expected_failures={})

    @property
    @once
    def baseline(self) -> Trace:
        """A run that nothing disturbs."""
        return self.run(SEEDS, 0)

    @property
    @once
    def alone(self) -> Trace:
        """A run of one lane, of seed 5 in world 5."""
        return self.long_alone if self.long == self.steps else self.run([5], 5)

    @property
    @once
    def long_alone(self) -> Trace:
        """The same, of ``long`` steps."""
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
        actions, metrics, stream, lent = [], [], [], list[Lent]()
        obs, valid = reset_by_actor(env, actors)
        for t in range(0, self.long if "long" in how else self.steps, actors):
            obs, valid = obs.clone(), copied(valid)
            given = obs.clone(), copied(valid)
            action = agent.act(*given).clone()
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
        elif value.dtype.is_floating_point:
            value.fill_(float("nan"))
        else:
            value.fill_(torch.iinfo(value.dtype).max)


def predictions(agent: Agent, questions: Tensor) -> dict[str, Tensor]:
    """The policy and whatever is predicted at observations ``[L, M, *obs]``, by name."""
    predicted = agent.uncertainty(questions.clone())
    fields = {} if predicted is None else vars(predicted)
    known = {name: value.clone() for name, value in fields.items() if value is not None}
    return known | {"policy": chosen(agent, questions)}


def step_of(obs: Tensor, action: Tensor, outcome: Outcome) -> Step:
    """A step, in tensors that nobody else holds."""
    own = copy_of(outcome)
    after = own.reward, own.terminated, own.truncated, own.next_obs, own.next_valid
    return Step(obs.clone(), action.clone(), *after)


def copy_of(outcome: Outcome, actors: int | None = None) -> Outcome:
    """An outcome in tensors of its own: the environment overwrites its own.

    As the environment gave it, ``[L · K, …]``, or by actor, ``[L, K, …]``.
    """
    own = vars(outcome)
    if actors is not None:
        own = tree_map(lambda tensor: by_actor(tensor, actors), own)
    return Outcome(**tree_map(copied, own))


class Recorded(LaneEnv):
    """The outcomes of an earlier run, ``[L · K]``, whatever the actions, by torch alone.

    Its steps can be captured, whatever the environment was that the outcomes came from.
    """

    capturable = True

    def __init__(self, trace: Trace, info: EnvironmentInfo) -> None:
        def stacked(*values: Tensor | None) -> Tensor | None:
            known = [value.flatten(0, 1) for value in values if value is not None]
            return torch.stack(known) if known else None

        self.observation_space, self.n_actions = info.observation_space, info.n_actions
        obs, valid, _ = trace.stream[0]
        self._first = obs.flatten(0, 1), None if valid is None else valid.flatten(0, 1)
        self._now = torch.zeros(1, dtype=torch.int64)
        self._kept = tree_map(stacked, *(vars(outcome) for *_, outcome in trace.stream))
        self._shown = tree_map(lambda all: None if all is None else all[0].clone(), self._kept)

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """The first observations."""
        self._now.zero_()
        return self._first

    def step(self, action: Tensor) -> Outcome:
        """The next outcome."""
        for shown, kept in zip(tree_leaves(self._shown), tree_leaves(self._kept), strict=True):
            if shown is not None:
                shown.copy_(kept.index_select(0, self._now)[0])
        self._now += 1
        return Outcome(**self._shown)


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


def same(one: Any, other: Any) -> bool:
    """Whether nested states or metrics are equal, bit for bit; NaN equals NaN."""
    return difference(one, other) is None
