"""When a deep Q-learning agent updates its networks, and on which transitions.

Steps are environment steps: a vector step of K actors takes the gradient steps of K steps at once,
after them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from torch import Tensor

from uqbench.contract.updates import triangular_numbers
from uqbench.lanes import Clock, DistinctIntegers, TransitionBuffer, Uniform
from uqbench.lanes.random import FunctionOfStep
from uqbench_dqn.config import DeepQConfig


class Updates(FunctionOfStep, ABC):
    """A schedule of gradient steps.

    Args:
        seeds: one per lane.
        config: settings.
        replay: whose transitions are drawn.
        clock: the step.

    Attributes:
        draws: the clock of what a gradient step draws.
        blocks: of draws that a vector step may need.
    """

    draws: Clock
    blocks: int

    def __init__(
        self,
        seeds: Sequence[int],
        config: DeepQConfig,
        replay: TransitionBuffer,
        clock: Clock,
    ) -> None:
        self._config, self._replay, self._actors = config, replay, clock.actors

    def phase(self, t: int) -> tuple[int, bool]:
        """Gradient steps of the vector step after ``t`` steps, and whether it syncs the target."""
        config = self._config
        after = t + self._actors
        return config.gradient_steps(after) - config.gradient_steps(t), self.syncs(t, after)

    @abstractmethod
    def syncs(self, t: int, after: int) -> bool:
        """Whether the target network is synced once in the steps from ``t`` to ``after``."""

    @abstractmethod
    def block(self, about: int) -> int:
        """Gradient steps whose draws are made at once, where ``about`` so many suit."""

    @abstractmethod
    def batches(self, count: int) -> Iterator[Tensor]:
        """The replay slots ``[L, B]`` of each of the ``count`` minibatches of a vector step."""


class PeriodicUpdates(Updates):
    """A gradient step every ``learn_period`` steps (Mnih et al. 2015), on distinct transitions."""

    def __init__(
        self,
        seeds: Sequence[int],
        config: DeepQConfig,
        replay: TransitionBuffer,
        clock: Clock,
    ) -> None:
        super().__init__(seeds, config, replay, clock)
        self._most = most = int(-(-self._actors // config.learn_period))
        self.draws = GradientSteps(clock, lambda vector_step: most * vector_step)
        self.blocks = 1
        self._integers = DistinctIntegers(
            seeds,
            "replay",
            config.batch_size,
            replay.capacity,
            clock.tensor.device,
            added=self._actors,
            draws=most,
        )

    def syncs(self, t: int, after: int) -> bool:
        """Every ``target_sync_period`` steps, once there are gradient steps."""
        period, first = self._config.target_sync_period, self._config.first_learning_step
        return -(-after // period) > -(-max(t, first) // period)

    def block(self, about: int) -> int:
        """All of a vector step's are in one."""
        return self._most * max(1, about // self._most)

    def batches(self, count: int) -> Iterator[Tensor]:
        """Minibatches without repeats."""
        for _ in range(count):
            yield self._integers.at(self.draws)
            self.draws.advance()


class TriangularUpdates(Updates):
    """``updates_per_event`` gradient steps after 1, 3, 6, 10, … environment steps.

    Source: Eriksson et al. 2022, Table 8. Minibatches are drawn with repeats, so that the first
    step has one.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        config: DeepQConfig,
        replay: TransitionBuffer,
        clock: Clock,
    ) -> None:
        super().__init__(seeds, config, replay, clock)
        each, actors = config.updates_per_event, self._actors
        self.draws = GradientSteps(
            clock, lambda vector_step: each * triangular_numbers(vector_step * actors)
        )
        self.blocks = triangular_numbers(actors)
        shape, device = (config.batch_size,), clock.tensor.device
        self._uniform = Uniform(seeds, "replay", shape, device, each, self.blocks)

    def syncs(self, t: int, after: int) -> bool:
        """Every ``target_sync_updates`` events, once there are gradient steps."""
        period, first = self._config.target_sync_updates, self._config.first_learning_step
        before = triangular_numbers(max(t, first - 1)) // period
        return triangular_numbers(after) // period > before

    def block(self, about: int) -> int:
        """Those of an event."""
        return self._config.updates_per_event

    def batches(self, count: int) -> Iterator[Tensor]:
        """Minibatches with repeats."""
        for _ in range(count):
            yield (self._uniform.at(self.draws) * self._replay.stored).long()
            self.draws.advance()


class GradientSteps(Clock):
    """Counts gradient steps: a clock for what each of them draws.

    Args:
        clock: the step.
        before: how many gradient steps there are before a vector step, at most.
    """

    def __init__(self, clock: Clock, before: Callable[[int], int]) -> None:
        super().__init__(clock.tensor.device)
        self._before = before
        clock.prepares(self)

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
