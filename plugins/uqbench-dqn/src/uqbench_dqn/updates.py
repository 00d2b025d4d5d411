"""When a deep Q-learning agent updates its networks (a schedule), and on what (a draw).

Any schedule goes with any draw that looks at what is stored when it draws; minibatches without
repeats are drawn ahead, for a replay that grows alike before each, as under a periodic schedule.
Steps are environment steps: a vector step of K actors takes the gradient steps of K steps at once,
after them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from uqbench.contract.updates import triangular_numbers
from uqbench.lanes import Clock, DistinctIntegers, TransitionBuffer, Uniform
from uqbench.lanes.random import FunctionOfStep
from uqbench_dqn.config import DeepQConfig


class Schedule(ABC):
    """Steps after which gradient steps, and syncs of the target network, are due.

    Args:
        config: settings.
        actors: K.

    Attributes:
        blocks: of draws that a vector step may need.
    """

    blocks: int

    def __init__(self, config: DeepQConfig, actors: int) -> None:
        self.config, self.actors = config, actors

    def phase(self, t: int) -> tuple[int, bool]:
        """Gradient steps of the vector step after ``t`` steps, and whether it syncs the target."""
        after = t + self.actors
        due = self.config.gradient_steps(after) - self.config.gradient_steps(t)
        return due, self.syncs(t, after)

    @abstractmethod
    def syncs(self, t: int, after: int) -> bool:
        """Whether the target network is synced once in the steps from ``t`` to ``after``."""

    @abstractmethod
    def before(self, vector_step: int) -> int:
        """Gradient steps before a vector step, at most."""

    @abstractmethod
    def block(self, about: int) -> int:
        """Gradient steps whose draws are made at once, where ``about`` so many suit."""


class Periodic(Schedule):
    """A gradient step every ``learn_period`` steps (Mnih et al. 2015).

    Attributes:
        most: gradient steps of a vector step, at most.
    """

    blocks = 1

    def __init__(self, config: DeepQConfig, actors: int) -> None:
        super().__init__(config, actors)
        self.most = int(-(-actors // config.learn_period))

    def syncs(self, t: int, after: int) -> bool:
        """Every ``target_sync_period`` steps, once there are gradient steps."""
        period, first = self.config.target_sync_period, self.config.first_learning_step
        return -(-after // period) > -(-max(t, first) // period)

    def before(self, vector_step: int) -> int:
        """The most that there may be."""
        return self.most * vector_step

    def block(self, about: int) -> int:
        """All of a vector step's are in one."""
        return self.most * max(1, about // self.most)


class Triangular(Schedule):
    """``updates_per_event`` gradient steps after 1, 3, 6, 10, … environment steps.

    Source: Eriksson et al. 2022, Table 8
    """

    def __init__(self, config: DeepQConfig, actors: int) -> None:
        super().__init__(config, actors)
        self.blocks = triangular_numbers(actors)

    def syncs(self, t: int, after: int) -> bool:
        """Every ``target_sync_updates`` events, once there are gradient steps."""
        period, first = self.config.target_sync_updates, self.config.first_learning_step
        before = triangular_numbers(max(t, first - 1)) // period
        return triangular_numbers(after) // period > before

    def before(self, vector_step: int) -> int:
        """Those of the events until then."""
        return self.config.updates_per_event * triangular_numbers(vector_step * self.actors)

    def block(self, about: int) -> int:
        """Those of an event."""
        return self.config.updates_per_event


class Draw(ABC):
    """The replay slots that a gradient step learns from."""

    @abstractmethod
    def at(self, draws: Clock) -> Tensor:
        """The slots ``[L, B]`` of the gradient step that ``draws`` counts, int64.

        Random numbers come ahead, as functions of that step; what an agent has learned may decide
        what is made of them.
        """

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """The state that is no function of the step."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""


class WithoutRepeats(DistinctIntegers, Draw):
    """Distinct transitions, each as likely as any other.

    Args:
        seeds: one per lane.
        count: B.
        replay: whose transitions are drawn.
        schedule: of the gradient steps.
        clock: the step.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        count: int,
        replay: TransitionBuffer,
        schedule: Periodic,
        clock: Clock,
    ) -> None:
        device, capacity = clock.tensor.device, replay.capacity
        added, draws = schedule.actors, schedule.most
        super().__init__(seeds, "replay", count, capacity, device, added=added, draws=draws)


class WithRepeats(FunctionOfStep, Draw):
    """Transitions that are drawn one by one, so that the first step has a minibatch.

    Args:
        seeds: one per lane.
        count: B.
        replay: whose transitions are drawn.
        schedule: of the gradient steps.
        clock: the step.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        count: int,
        replay: TransitionBuffer,
        schedule: Schedule,
        clock: Clock,
    ) -> None:
        self._replay, device, block = replay, clock.tensor.device, schedule.block(1)
        self._uniform = Uniform(seeds, "replay", (count,), device, block, schedule.blocks)

    def at(self, draws: Clock) -> Tensor:
        """Slots of what is stored."""
        return (self._uniform.at(draws) * self._replay.stored).long()


class Updates:
    """The gradient steps of an agent: a schedule, and a draw for each of them.

    Args:
        schedule: when.
        draw: on what.
        clock: the step.

    Attributes:
        draws: the clock of what a gradient step draws.
    """

    def __init__(self, schedule: Schedule, draw: Draw, clock: Clock) -> None:
        self.draw, self.phase, self.block = draw, schedule.phase, schedule.block
        self.blocks, self.draws = schedule.blocks, GradientSteps(clock, schedule.before)

    def batches(self, count: int) -> Iterator[Tensor]:
        """The replay slots ``[L, B]`` of each of the ``count`` minibatches of a vector step."""
        for _ in range(count):
            yield self.draw.at(self.draws)
            self.draws.advance()

    def state_dict(self) -> dict[str, Any]:
        """The draw's; all else is a function of the step."""
        return self.draw.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore from ``state_dict()``."""
        self.draw.load_state_dict(state)


class GradientSteps(Clock):
    """Counts gradient steps: a clock for what each of them draws.

    Args:
        clock: the step.
        before: how many gradient steps there are before a vector step, at most.
    """

    def __init__(self, clock: Clock, before: Callable[[int], int]) -> None:
        super().__init__(clock.tensor.device)
        self._before, self._clock = before, clock
        clock.prepares(self)

    @property
    def captured(self) -> bool:  # type: ignore[override]
        """Whether the step is being captured."""
        return self._clock.captured

    def prepare(self, vector_step: int) -> None:
        """Go to the first gradient step of a vector step."""
        first = self._before(vector_step)
        if first != self.t:
            self.t = first
            self.tensor.fill_(first)
            self._prepare()

    def advance(self) -> None:
        """Go to the next gradient step of the vector step."""
        self.tensor += 1
