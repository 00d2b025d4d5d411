"""Agents as subjects: short runs of them, undisturbed and disturbed, and what they leave behind."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from uqbench.contract.agent import Agent, EnvironmentInfo, Step
from uqbench.contract.environment import LaneEnv, Outcome
from uqbench.contract.specs import Role
from uqbench.runner.train.loop import by_actor, reset_by_actor
from uqbench.testing.conformance.check import Subject, located
from uqbench.testing.same_bits import difference
from uqbench.testing.worlds import RotatingPixels

QUESTIONS = 4
"""Number of observations on which predictions are compared."""
SEEDS = (3, 5)
"""Of the run that others are compared with."""
CPU = torch.device("cpu")


MakeAgent = Callable[[Sequence[int], torch.device], Agent]
"""Makes a new agent, one lane per seed, on a device."""


Lent = tuple[str, Tensor | None, Tensor | None]
"""A clone that an agent was given: what it is called, the clone, and its values."""


@dataclass(frozen=True)
class Trace:
    """What a run of an agent shows.

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
        """What the first difference is; empty where two runs of equal lanes are the same."""
        for what in ("actions", "metrics", "predictions"):
            differs = difference(getattr(self, what), getattr(other, what), what)
            if differs is not None:
                return f"{differs.where} differs"
        return ""

    def lane(self, lane: int) -> Trace:
        """The same run of one lane."""
        parts = self.actions, self.metrics, self.predictions
        own = tree_map(lambda tensor: tensor[lane : lane + 1], parts)
        return replace(self, **dict(zip(("actions", "metrics", "predictions"), own, strict=True)))


Disturbance = Literal["read", "overwrite", "long", "among"]
"""Of a run: see :meth:`AgentSubject.difference`."""


@dataclass(kw_only=True)
class AgentSubject(Subject):
    """An agent written for lanes, and worlds to try it in.

    Attributes:
        make: makes it, on a device.
        world: makes ``lanes`` worlds, numbered from ``first`` on, each a function of its number.
        info: what agents know about the world.
        role: trivial and oracle rows need not use their seeds, nor spare the device.
        config: the config that ``make`` uses; None where a check need not know.
        several: the same agent with several actors; None where it learns from one.
        steps: length of the runs: with ``make``'s config they must show everything: learning, a
            target network that is synced, a replay buffer that overflows.
        long: length of the runs for what begins late, such as what a full buffer forgets.
        stops: steps after which a run resumes from its saved state.
        discounted: makes the function that makes it under another γ; None where that is unknown.
        calibrated: whether it says that its intervals are a posterior's.
        recipe: what another process makes it from: the factory and its first and third argument;
            None where that cannot be sent.
    """

    kind: ClassVar[str] = "agent"
    make: MakeAgent
    world: Callable[[int, int], LaneEnv] = RotatingPixels
    info: EnvironmentInfo = field(default_factory=RotatingPixels.info)
    role: Role = "method"
    config: Any = None
    several: AgentSubject | None = None
    steps: int = 160
    long: int = 600
    stops: Sequence[int] = (20, 110)
    discounted: Callable[[float], MakeAgent] | None = None
    calibrated: bool = False
    recipe: tuple[Any, EnvironmentInfo, Any] | None = None

    def new(self, seeds: Sequence[int] = SEEDS) -> Agent:
        """A new one, on the CPU."""
        return self.make(seeds, CPU)

    @property
    def baseline(self) -> Trace:
        """A run that nothing disturbs."""
        return self.once("baseline", lambda: self.run(SEEDS, 0))

    @property
    def alone(self) -> Trace:
        """A run of one lane, of seed 5 in world 5."""
        long = self.long == self.steps
        return self.long_alone if long else self.once("alone", lambda: self.run([5], 5))

    @property
    def long_alone(self) -> Trace:
        """The same, of ``long`` steps."""
        return self.once("long alone", lambda: self.run([5], 5, steps=self.long))

    def difference(self, *how: Disturbance) -> str:
        """How a disturbed run differs from one that is not; empty where it does not.

        Runs take time: ask for all disturbances at once, and for one by one where that differs.

        Args:
            how: *read*, predictions are asked for after every step; *overwrite*, a step's tensors
                are overwritten after ``observe``; *long*, it is one lane's run of ``long`` steps;
                *among*, that lane is the second of two.
        """

        def run() -> str:
            among, long = "among" in how, "long" in how
            seeds, first = ([3, 5], 4) if among else ([5], 5) if long else (SEEDS, 0)
            try:
                trace = self.run(seeds, first, steps=self.long if long else None, disturb=how)
            except Exception as error:  # overwritten integers may be indices
                return f"it raised {type(error).__name__}: {located(error)}"
            if long:
                return trace.lane(int(among)).difference(self.long_alone)
            return trace.difference(self.baseline)

        return self.once(f"difference {how}", run)

    def run(
        self,
        seeds: Sequence[int],
        first: int,
        *,
        steps: int | None = None,
        disturb: Collection[Disturbance] = (),
    ) -> Trace:
        """Run a new agent in the worlds from ``first`` on."""
        actors = self.info.actors
        agent = self.new(seeds)
        env = self.world(len(seeds) * actors, first * actors)
        actions, metrics, stream, lent = [], [], [], list[Lent]()
        obs, valid = reset_by_actor(env, actors)
        for t in range(0, self.steps if steps is None else steps, actors):
            obs, valid = obs.clone(), _copied(valid)
            given = obs.clone(), _copied(valid)
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
            if "read" in disturb:
                agent.policy(step.next_obs)
                agent.uncertainty(step.next_obs)
            if "overwrite" in disturb:
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
        if value.dtype.is_floating_point:
            value.fill_(float("nan"))
        elif value.dtype == torch.bool:
            value.logical_not_()
        else:
            value.fill_(torch.iinfo(value.dtype).max)


def predictions(agent: Agent, questions: Tensor) -> dict[str, Tensor]:
    """The policy and whatever is predicted at observations ``[L, M, *obs]``, by name."""
    predicted = agent.uncertainty(questions.clone())
    fields = {} if predicted is None else vars(predicted)
    known = {name: value.clone() for name, value in fields.items() if value is not None}
    return known | {"policy": agent.policy(questions.clone()).clone()}


def replay_step(agent: Agent, trace: Trace, t: int, outcome: Outcome | None = None) -> Tensor:
    """Let an agent act and observe at vector step ``t`` of a trace; returns what it would do.

    It observes the action that was taken there, so that no small difference grows.

    Args:
        agent: any.
        trace: of another agent.
        t: the vector step.
        outcome: what it observes; None for the trace's.
    """
    obs, valid, own = trace.stream[t]
    action = agent.act(obs.clone(), _copied(valid)).clone()
    agent.observe(step_of(obs, trace.actions[t], own if outcome is None else outcome))
    return action


def step_of(obs: Tensor, action: Tensor, outcome: Outcome) -> Step:
    """A step, in tensors that nobody else holds."""
    own = copy_of(outcome)
    after = own.reward, own.terminated, own.truncated, own.next_obs, own.next_valid
    return Step(obs.clone(), action.clone(), *after)


def copy_of(outcome: Outcome, actors: int | None = None) -> Outcome:
    """An outcome in tensors of its own: the environment overwrites its own.

    As the environment gave it, ``[L · K, …]``, or by actor, ``[L, K, …]``.
    """

    def own(tensor: Tensor | None) -> Tensor | None:
        return _copied(tensor if actors is None else by_actor(tensor, actors))

    return Outcome(**tree_map(own, vars(outcome)))


def _copied(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.clone()


def _flat(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.flatten(0, 1)


class Recorded(LaneEnv):
    """The outcomes of an earlier run, ``[L · K]``, whatever the actions, by torch alone.

    Its steps can be captured, whatever the environment was that the outcomes came from.
    """

    capturable = True

    def __init__(
        self, stream: Sequence[tuple[Tensor, Tensor | None, Outcome]], info: EnvironmentInfo
    ) -> None:
        self.observation_space, self.n_actions = info.observation_space, info.n_actions
        first_obs, first_valid, _ = stream[0]
        self._first = first_obs.flatten(0, 1), _flat(first_valid)
        self._now = torch.zeros(1, dtype=torch.int64)
        outcomes = [outcome for *_, outcome in stream]
        self._kept: dict[str, Tensor] = {}
        for name in ("reward", "terminated", "truncated", "next_obs", "obs", "next_valid", "valid"):
            values = [getattr(outcome, name) for outcome in outcomes]
            if all(value is not None for value in values):
                self._kept[name] = torch.stack(values).flatten(1, 2)
        self._shown = {name: values[0].clone() for name, values in self._kept.items()}

    def reset(self) -> tuple[Tensor, Tensor | None]:
        """The first observations."""
        self._now.zero_()
        return self._first

    def step(self, action: Tensor) -> Outcome:
        """The next outcome."""
        for name, values in self._kept.items():
            self._shown[name].copy_(values.index_select(0, self._now)[0])
        self._now += 1
        shown: dict[str, Any] = dict(self._shown)
        return Outcome(**shown)


def through_a_file(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state after a round trip through a checkpoint's file."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


def same(one: Any, other: Any) -> bool:
    """Whether nested states or metrics are equal, bit for bit; NaN equals NaN."""
    return difference(one, other) is None
